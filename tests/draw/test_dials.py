"""The data of the figures with sliders, against brute force; tests/book drives them."""

import json
import re

import pytest
import torch

from kvteach.budgets.pages import page_scores
from kvteach.draw import choices, dials
from kvteach.evaluate import roofline


def data_of(figure):
    return json.loads(re.search(r'getElementById\("[^"]+"\), (\{.*\})\);', figure.data)[1])


def said(figure, name):
    """The text that the markup shows where no script runs."""
    return re.search(rf'data-say="{name}">([^<]*)<', figure.data)[1]


def test_contour_counts_keys_above_the_threshold(generator):
    scores = torch.randn(4, 2, 50, generator=generator).exp()
    scores[0, 0, :20] = 0.0
    figure = dials.contour(scores, floor=8, entries=20, key_bytes=256)
    data = data_of(figure)
    for counts, padded, stop in zip(data["counts"], data["padded"], data["stops"]):
        widest = 0
        for layer in range(4):
            pair = counts[2 * layer:2 * layer + 2]
            widest += 2 * max(pair)
            for head, count in enumerate(pair):
                # The stop is rounded to five digits: scores that close may go either way.
                row = scores[layer, head, :-8]
                surely, maybe = (int((row >= float(stop) * x).sum()) for x in (1.001, 0.999))
                assert 8 + surely <= count <= 8 + maybe
        assert padded == widest
    means = [sum(c) / 8 for c in data["counts"]]
    assert means == sorted(means) and means[0] <= 8 + 1 and means[-1] > 20
    assert abs(float(said(figure, "mean")) - 20) <= min(abs(m - 20) for m in means) + 0.05
    with pytest.raises(ValueError, match="floor: 50; need 1 to 49"):
        dials.contour(scores, floor=50, entries=20, key_bytes=256)


def test_gap_profiles_ask_for_the_fewest_keys(generator):
    logits = [3 * torch.randn(200, generator=generator), torch.zeros(64)]
    figure = dials.gap_profiles(["wide", "flat"], logits)
    for row, data in zip(logits, data_of(figure)["rows"]):
        weights = row.double().softmax(0).sort(descending=True).values
        for eta, keys, mass in zip(dials.ETAS, data["keys"], data["mass"]):
            # 1e-9: a sum of 200 float64 weights in another order.
            assert mass == pytest.approx(weights[:keys].sum().item(), abs=1e-9)
            assert weights[:keys].sum() >= 1 - eta - 1e-9
            assert weights[:keys - 1].sum() < 1 - eta + 1e-9
    keys = data_of(figure)["rows"][0]["keys"][dials.ETAS.index(0.1)]
    assert said(figure, "keys") == f"{keys} of 200"


def test_tail_slot_takes_errors_that_fit():
    plain, slot = torch.rand(2, 5), torch.rand(2, 5)
    figure = dials.tail_slot(["a", "b"], [8, 9, 10, 11, 12], plain, {"mine": slot})
    data = data_of(figure)
    assert data["errors"] == [plain.tolist(), slot.tolist()]
    # A larger error stands higher, that is at a smaller y.
    ys, errors = torch.tensor(data["lines"][0][0]), plain[0]
    assert (ys.argsort(descending=True) == errors.argsort()).all()
    with pytest.raises(ValueError, match=r"mine: shape \(2, 4\); need \(2, 5\)"):
        dials.tail_slot(["a", "b"], [8, 9, 10, 11, 12], plain, {"mine": slot[:, 1:]})


def test_ranking_rows_counts_heads_that_hold_the_fact(generator):
    windows = [1, 4, 16]
    place = torch.randint(0, 100, (3, 7), generator=generator)
    data = data_of(choices.ranking_rows({"a": (place, 100), "b": (place, 40)}, windows))
    for holds, length in zip(data["holds"], (100, 40)):
        for share, row in zip(choices.KEPT, holds):
            kept = int(share * length)
            assert row == [sum(int(p) < kept for p in heads) for heads in place]
    with pytest.raises(ValueError, match="need"):
        choices.ranking_rows({"a": (place, 100)}, [1, 4])


def test_the_keys_of_a_page_that_are_sent_give_its_score_under_any_vote(generator):
    heads = (3 * torch.randn(3, 75, generator=generator)).softmax(1)
    group, = data_of(choices.vote_temperature({"g": heads}, 40))["groups"]
    assert len(group["pages"]) == 5
    assert sum(map(len, group["pages"])) < 75
    for _ in range(20):
        vote = torch.rand(3, generator=generator).softmax(0).double()
        best = [max(sum(p * w for p, w in zip(key, vote.tolist())) for key in keys)
                for keys in group["pages"]]
        expected = page_scores((vote[:, None] * heads.double()).sum(0), 16)
        # Five digits of every weight are sent.
        assert best == pytest.approx(expected.tolist(), rel=1e-4)


def test_caution_starts_where_it_is_told():
    figure = choices.caution([0.9, 0.4, 0.3, 0.2], first=0.1, conservatism=0.75)
    # Worked out in chapter 19: the best action loses to one that was tried more often.
    assert said(figure, "chosen") == "action 1" and said(figure, "lost") == "0.50"
    with pytest.raises(ValueError, match="first, conservatism: 0.11"):
        choices.caution([0.9, 0.4], first=0.11)


def test_a_decode_step_is_that_of_the_roofline():
    machine = roofline.Machine("toy", 2e12, 3e14)
    figure = dials.decode_step([machine], 7e9, 131_072, 4)
    step = roofline.decode_step(7e9, 131_072, 32_768, 8, 4)
    assert float(said(figure, "least")) == pytest.approx(
        1000 * roofline.least_seconds(step, machine), abs=0.005)  # two digits are shown
    assert float(said(figure, "ms-2")) == pytest.approx(
        1000 * step.flop / machine.peak, abs=0.005)
    assert said(figure, "cache") == f"{step.cache_bytes / 1e9:.1f} GB"


@pytest.mark.parametrize("figure", [
    choices.caution([0.9, 0.4]),
    dials.gap_profiles(["<b>&"], [torch.arange(9.0)]),
], ids=["caution", "gaps"])
def test_they_need_no_network_and_no_mouse(figure):
    assert "http" not in figure.data and "<b>" not in figure.data
    assert figure.data.count("</script>") == 1
    assert re.search(r'<label>[^<]+<input type="range"', figure.data)
