"""kvpress on the same tokens, in its own environment; compression.py calls this.

Reads a JSON object from standard input (folder, tokens, share, rounds, steps) and
writes one to standard output: for each press the ratio of prefill plus compression to a
plain prefill, of decoding to decoding over the full cache, and of the bytes that the
cache and its index vectors hold to those of the full cache.
"""

import contextlib
import json
import statistics
import sys
import time
from importlib.metadata import version

import kvpress
import torch
from transformers import AutoModelForCausalLM, DynamicCache


def cpu_seconds(call):
    """CPU seconds of one call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def presses(ratio):
    """The presses whose rules are also ours, by our names."""
    snapkv = kvpress.SnapKVPress
    return {
        "streaming": kvpress.StreamingLLMPress(ratio),
        "tova": kvpress.TOVAPress(ratio),
        "snapkv": snapkv(ratio),
        "knorm": kvpress.KnormPress(ratio),
        "keydiff": kvpress.KeyDiffPress(ratio),
        "expected": kvpress.ExpectedAttentionPress(ratio),
        "compactor": kvpress.CompactorPress(ratio),
        "chunkkv": kvpress.ChunkKVPress(press=snapkv(ratio)),
        "pyramidkv": kvpress.PyramidKVPress(ratio),
        "adakv": kvpress.AdaKVPress(snapkv(ratio)),
        "kvzip": kvpress.KVzipPress(ratio),
    }


def held_bytes(model, cache):
    """Storage of keys and values, and of the index vectors left on the modules."""
    tensors = [t for layer in cache.layers for t in (layer.keys, layer.values)]
    for layer in model.model.layers:
        masked = getattr(layer.self_attn, "masked_key_indices", None)
        tensors += list(masked) if masked is not None else []
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
                for t in tensors}.values())


def main():
    """Time every press between plain runs."""
    asked = json.loads(sys.stdin.read())
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(asked["folder"], dtype=torch.float32).eval()
    ids = torch.tensor(asked["tokens"])[None]
    length = ids.shape[1]

    def read(cache, press=None):
        with torch.no_grad(), press(model) if press else contextlib.nullcontext():
            model.model(input_ids=ids, past_key_values=cache)

    def step(cache, position):
        with torch.no_grad():
            where = torch.tensor([position])
            model(ids[:, :1], past_key_values=cache, position_ids=where[None],
                  cache_position=where)

    read(DynamicCache())
    found = {"kvpress": version("kvpress"), "torch": version("torch"),
             "transformers": version("transformers")}
    for name, press in presses(1 - asked["share"]).items():
        plain, own = [], []
        for _ in range(asked["rounds"]):
            full, cache = DynamicCache(), DynamicCache()
            plain.append(cpu_seconds(lambda: read(full)))
            own.append(cpu_seconds(lambda: read(cache, press)))
        dense, steps = [], []
        for i in range(asked["steps"]):
            steps.append(cpu_seconds(lambda: step(cache, length + i)))
            held = held_bytes(model, cache) if i == 0 else held
        for layer in model.model.layers:  # what a press leaves behind slows plain runs
            layer.self_attn.masked_key_indices = None
        for i in range(asked["steps"]):
            dense.append(cpu_seconds(lambda: step(full, length + i)))
        found[name] = {
            "prefill_ratio": statistics.median(o / p for o, p in zip(own, plain)),
            "decode_ratio": statistics.median(steps) / statistics.median(dense),
            "held_over_full": held / held_bytes(model, full),
        }
        print(name, found[name], file=sys.stderr, flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
