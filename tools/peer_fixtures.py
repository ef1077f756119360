"""Record what the kvpress library scores and keeps, for offline tests.

    .venv/bin/python tools/peer_fixtures.py

`make peer` calls this. It makes the environment .venv-peer, in which kvpress and the
transformers that it needs are installed, runs kvpress there on a tiny random model and
on the bundled one, and writes tests/peer/*.safetensors and tests/peer/peer.json. These
files are committed, so the tests need neither kvpress nor this program.

kvpress (NVIDIA, Apache-2.0) is only called, through its presses and their hooks.
"""

import json
import platform
import subprocess
import sys
from importlib.metadata import version
from logging import ERROR, getLogger
from pathlib import Path
from unittest import mock

import make_venv

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-peer"
OUT = ROOT / "tests" / "peer"
RATIO = 0.6  # of the keys that are evicted
TINY = {
    "vocab_size": 64,
    "hidden_size": 24,
    "intermediate_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
}
TINY_LAYERS, TINY_LENGTH, TINY_WINDOW = [0, 1, 2, 3], 97, 16
LAYERS, LENGTH, WINDOW = [0, 9, 19, 29], 300, 64
ENDS = 12  # keys at both ends that Compactor leaves out
BY_SNAPKV = ("chunkkv", "pyramidkv", "adakv")  # scores are SnapKV's: only sets are kept


def main():
    """Make the environment, choose tokens, and run this file again inside."""
    from kvteach import bundled, corpora, models

    ensure_venv()
    loaded = models.load(device="cpu")
    document = corpora.documents("english")[120]
    inputs = {
        "folder": str(bundled.converted_folder()),
        "bundled": bundled.BUNDLED,
        "document": document.name,
        "tokens": document.tokens(loaded.tokenizer, LENGTH).tolist(),
    }
    inside = [make_venv.venv_python(VENV), __file__, "inside"]
    subprocess.run(inside, input=json.dumps(inputs), text=True, check=True)


def ensure_venv():
    """Install requirements-peer.txt into .venv-peer unless that has been done."""
    stamp = VENV / "kvteach-installed"
    key = make_venv.fingerprint(ROOT, ["requirements-peer.txt"])
    if make_venv.stamped(stamp, key):
        return
    VENV.mkdir(exist_ok=True)
    stamp.unlink(missing_ok=True)
    create = [sys.executable, "-m", "venv", VENV]
    make_venv.run(create, VENV, "Creating the environment .venv-peer")
    install = make_venv.pip(VENV, "-r", "requirements-peer.txt")
    make_venv.run(install, VENV, "Installing kvpress and what it needs")
    stamp.write_text(key)


# --- from here on inside .venv-peer -------------------------------------------------


def record(inputs):
    """Run every press on both models and write the fixtures."""
    import torch
    from safetensors.torch import save_file
    from transformers import LlamaForCausalLM, logging

    logging.disable_progress_bar()
    getLogger("kvpress").setLevel(ERROR)  # KVzip warns of its own cost
    OUT.mkdir(exist_ok=True)
    generator = torch.Generator().manual_seed(1)
    model = tiny_model(generator)
    shape = (1, TINY_LENGTH)
    tokens = torch.randint(TINY["vocab_size"], shape, generator=generator)
    gates = fastkvzip_gates(generator)
    tensors = {f"model/{name}": weight for name, weight in model.state_dict().items()}
    for layer, gate in enumerate(gates):
        for name, weight in gate.state_dict().items():
            tensors[f"fastkvzip/gate/{layer}.{name}"] = weight
    presses = {**common(TINY_LENGTH, TINY_WINDOW), **learned(gates, generator, tensors)}
    about = {"config": TINY, "tokens": tokens[0].tolist(), "layers": TINY_LAYERS}
    about |= run_all(model, tokens, presses, TINY_LAYERS, tensors)
    save_file({n: t.contiguous() for n, t in tensors.items()}, OUT / "tiny.safetensors")

    tensors = {}
    model = LlamaForCausalLM.from_pretrained(inputs["folder"], dtype=torch.float32)
    presses = common(LENGTH, WINDOW)
    tokens = torch.tensor([inputs["tokens"]])
    real = {"model": inputs["bundled"], "document": inputs["document"]}
    real |= {"tokens": inputs["tokens"], "layers": LAYERS}
    real |= run_all(model.eval(), tokens, presses, LAYERS, tensors)
    save_file(tensors, OUT / "bundled.safetensors")

    versions = {name: version(name) for name in ("kvpress", "torch", "transformers")}
    versions |= {"python": platform.python_version(), "machine": platform.machine()}
    peer = {"versions": versions, "ratio": RATIO, "tiny": about, "bundled": real}
    (OUT / "peer.json").write_text(json.dumps(peer) + "\n")


def tiny_model(generator):
    """A Llama with R = 3 whose weights are drawn by name, and attention is sharp."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(**TINY)).eval()
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            noise = torch.randn(weight.shape, generator=generator)
            weight.copy_(1 + 0.1 * noise if "norm" in name else 0.3 * noise)
    return model


def common(length, window):
    """The presses that both models run, by the name of their fixtures."""
    import kvpress

    tile = max(n for n in range(1, 128) if (length - ENDS) % n == 0)
    snapkv = {"compression_ratio": RATIO, "window_size": window}
    ratio = {"compression_ratio": RATIO}
    return {
        "streaming": kvpress.StreamingLLMPress(**ratio),
        "observed": kvpress.ObservedAttentionPress(**ratio),
        "tova": kvpress.TOVAPress(**ratio),
        "snapkv": kvpress.SnapKVPress(**snapkv),
        "knorm": kvpress.KnormPress(**ratio),
        "keydiff": kvpress.KeyDiffPress(**ratio),
        "expected": kvpress.ExpectedAttentionPress(**ratio),
        "compactor": kvpress.CompactorPress(**ratio),
        "compactor_tiles": kvpress.CompactorPress(chunk_size=tile, **ratio),
        "chunkkv": kvpress.ChunkKVPress(kvpress.SnapKVPress(**snapkv)),
        "pyramidkv": kvpress.PyramidKVPress(**snapkv),
        "pyramidkv_ramp": kvpress.PyramidKVPress(RATIO, window_size=8, beta=4),
        "pyramidkv_cut": kvpress.PyramidKVPress(RATIO / 2, window_size=8),
        "adakv": kvpress.AdaKVPress(kvpress.SnapKVPress(**snapkv)),
        "kvzip": kvpress.KVzipPress(chunk_size=length // 3, **ratio),
        "kvzip_layerwise": kvpress.KVzipPress(layerwise=True, **ratio),
        "kvzip_plus": kvpress.KVzipPress(kvzip_plus_normalization=True, **ratio),
    }


def fastkvzip_gates(generator):
    """Gates of Fast KVzip with random weights, one for each layer of the tiny model."""
    import torch
    from kvpress.presses.fastkvzip_press import FastKVzipGate

    kv_heads = TINY["num_key_value_heads"]
    group = TINY["num_attention_heads"] // kv_heads
    gates = []
    for index in TINY_LAYERS:
        gate = FastKVzipGate(
            index, TINY["hidden_size"], kv_heads, group, torch.float32, 8, sink=4
        )
        randomise(gate, generator)
        gates.append(gate)
    return gates


def learned(gates, generator, tensors):
    """The presses with learned weights, here random ones, put into ``tensors``."""
    import kvpress
    from kvpress.presses.kvzap_press import KVzapConfig, KVzapModel

    fast = kvpress.FastKVzipPress(compression_ratio=RATIO)
    fast.gates = gates
    presses = {"fastkvzip": fast}
    for kind, hidden in (("linear", None), ("mlp", 10)):
        config = KVzapConfig(
            input_dim=TINY["hidden_size"],
            output_dim=TINY["num_key_value_heads"],
            n_modules=len(TINY_LAYERS),
            hidden_dim=hidden,
        )
        press = kvpress.KVzapPress(model_type=kind)
        press.kvzap_model = randomise(KVzapModel(config), generator)
        press.kvzap_model_name = f"nvidia/KVzap-{kind}-"  # what it would look for
        for name, weight in press.kvzap_model.state_dict().items():
            tensors[f"kvzap_{kind}/gate/{name}"] = weight
        presses[f"kvzap_{kind}"] = kvpress.DMSPress(
            press, threshold=0.0, sliding_window_size=20
        )
    return presses


def randomise(module, generator):
    """Gaussian weights of size 0.3."""
    import torch

    with torch.no_grad():
        for _, weight in sorted(module.named_parameters()):
            weight.copy_(0.3 * torch.randn(weight.shape, generator=generator))
    return module


def run_all(model, tokens, presses, layers, tensors):
    """Scores and kept sets of every press into ``tensors``; what else is to be known."""
    known = {}
    for name, press in presses.items():
        known |= run_one(model, tokens, name, press, layers, tensors)
        print(f"{name}: done", flush=True)
    return known


def run_one(model, tokens, name, press, layers, tensors):
    """One press on one model."""
    import torch
    from kvpress.presses import kvzip_press
    from transformers import DynamicCache

    scorer = getattr(press, "press", press)
    seen, known = {}, {}
    if hasattr(scorer, "score"):
        watch(scorer, seen)
    else:
        watch_after(press, seen, known)
    named = model.config.name_or_path
    tokenizer = kvzip_press.AutoTokenizer if named else NoTokenizer
    model.set_attn_implementation("eager" if name == "observed" else "sdpa")
    cache = DynamicCache()
    with mock.patch.object(kvzip_press, "AutoTokenizer", tokenizer):
        with torch.no_grad(), press(model):
            model(tokens, past_key_values=cache)
    for index in layers:
        score, full = seen[index]
        attention = model.model.layers[index].self_attn
        masked = getattr(attention, "masked_key_indices", None)
        if masked is None:
            kept = find(cache.layers[index].keys[0], full[0])
        else:
            kept = torch.ones_like(score, dtype=torch.bool)
            kept[masked[1], masked[2]] = False
        if not name.startswith(BY_SNAPKV):
            tensors[f"{name}/score/{index}"] = score
        tensors[f"{name}/kept/{index}"] = kept
    return {name: known} if known else {}


def watch(scorer, seen):
    """Note what a press scores, and the keys that it scored."""
    import torch

    score = scorer.score

    def noted(module, hidden_states, keys, values, attentions, kwargs):
        torch.manual_seed(module.layer_idx)  # Compactor draws from the global generator
        scores = score(module, hidden_states, keys, values, attentions, kwargs)
        seen[module.layer_idx] = (scores[0].clone(), keys.clone())
        return scores

    scorer.score = noted


def watch_after(press, seen, known):
    """Note the scores of a press that holds them all until the end."""
    finish = press.compress_post

    def noted(model):
        finish(model)
        for index, scores in enumerate(press.score_val):
            seen[index] = (scores[0].clone(), None)
        if hasattr(press, "_suffix_ids"):
            known["prefix"] = press.prefix_length
            known["answer"] = press._suffix_ids[0].tolist()
            known["chunk"] = press.chunk_size

    press.compress_post = noted


def find(kept_knd, full_ksd):
    """Where the kept keys stood: [K, S] bool."""
    same = (kept_knd[:, :, None] == full_ksd[:, None]).all(-1)
    assert (same.sum(-1) == 1).all(), "a kept key is not one of the full cache"
    return same.any(1)


class NoTokenizer:
    """Stands for the tokenizer of a model that has none: characters modulo 64."""

    chat_template = None

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def encode(self, text, **_):
        import torch

        return torch.tensor([[ord(letter) % 64 for letter in text]], dtype=torch.long)


if __name__ == "__main__":
    record(json.load(sys.stdin)) if sys.argv[1:] == ["inside"] else main()
