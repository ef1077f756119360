"""What figures recompute in the page is what the library computes, stop by stop."""

import math

import pytest
import torch
from browser import Visit

from kvteach.budgets.pages import page_scores
from kvteach.compile import cql
from kvteach.draw import choices, dials
from kvteach.evaluate import roofline
from kvteach.scores import pooled

pytestmark = pytest.mark.browser


@pytest.fixture
def opened(chromium, tmp_path):
    """A function that opens a figure and returns (set controls, read a value)."""
    with Visit(chromium, 1280, "light") as visit:
        def open_it(figure):
            path = tmp_path / "figure.html"
            path.write_text(f'<!doctype html><meta charset="utf-8">{figure.data}')
            page = visit.open(path)

            def turn(**values):
                for name, value in values.items():
                    page.evaluate(
                        "([name, value]) => { const c = document.querySelector("
                        "`[data-set=${name}]`); c.value = value; "
                        "c.dispatchEvent(new Event('input')); }", [name, value])

            return turn, lambda name: page.locator(f'[data-say="{name}"]').text_content()
        yield open_it
        assert not visit.trouble


def test_caution(opened):
    mean = [0.9, 0.4, 0.3, 0.2]
    turn, said = opened(choices.caution(mean))
    for c_at in (1, 10, 30):
        for share_at, first in list(enumerate(choices.SHARES))[::4]:
            turn(c=c_at, share=share_at)
            share = torch.tensor([[first] + [(1 - first) / 3] * 3], dtype=torch.float64)
            q = cql.solve(cql.Summary(torch.tensor([mean]).double(), 1e6 * share),
                          choices.CAUTIONS[c_at])[0]
            shown = [float(said(f"q-{a}")) for a in range(4)]
            assert shown == pytest.approx(q.tolist(), abs=0.0051)  # two digits are shown
            assert said("chosen") == f"action {q.argmax()}"


def test_caution_of_nothing_is_averaging(opened):
    turn, said = opened(choices.caution([0.9, 0.4]))
    turn(c=0, share=0)
    assert said("chosen") == "action 0" and float(said("q-0")) == pytest.approx(0.9, abs=0.005)


def test_vote(opened, generator):
    groups = {name: (4 * torch.randn(3, 100, generator=generator)).softmax(1) for name in "ab"}
    turn, said = opened(choices.vote_temperature(groups, 50))
    for at, heads in enumerate(groups.values()):
        for tau_at, tau in list(enumerate(choices.TAUS))[::6]:
            turn(group=at, tau=tau_at)
            vote = pooled.vote(pooled.renyi(pooled.isolated(heads)), tau)
            shown = [float(said(f"vote-{h}")) for h in range(3)]
            assert shown == pytest.approx(vote.tolist(), abs=0.0051)
            page_n = page_scores((vote[:, None] * heads.double()).sum(0), 16)
            assert said("rank") == f"{int((page_n >= page_n[3]).sum())} of 7"
            # Four digits are shown, of weights that were sent with five.
            assert float(said("pooled")) == pytest.approx(page_n[3].item(), abs=2e-4)


def test_decode_step(opened):
    machines = [roofline.Machine("fast", 4.8e12, 9.89e14), roofline.Machine("slow", 1e11, 2e11)]
    turn, said = opened(dials.decode_step(machines, 7e9, 131_072, 4))
    for at, machine in enumerate(machines):
        for users_at, tokens_at, held_at in ((0, 0, 0), (7, 3, 2), (3, 7, 6), (7, 0, 0)):
            turn(machine=at, users=users_at, tokens=tokens_at, held=held_at)
            tokens = dials.LENGTHS[tokens_at] * dials.HELD[held_at]
            step = roofline.decode_step(7e9, 131_072, tokens, dials.SEQUENCES[users_at], 4)
            least = 1000 * roofline.least_seconds(step, machine)
            assert float(said("least")) == pytest.approx(least, abs=0.0051)
            waits = "arithmetic" if step.intensity > machine.balance else "memory"
            assert said("limit") == waits


def test_gap_profiles_and_thresholds_follow_their_sliders(opened, generator):
    turn, said = opened(dials.gap_profiles(["a", "b"], [torch.zeros(99), torch.arange(50.0)]))
    turn(row=0, eta=dials.ETAS.index(0.2))
    assert said("keys") == "80 of 99"  # a flat row needs as many keys as mass
    turn(row=1, eta=0)
    mass = (1 - math.exp(-1)) / (1 - math.exp(-50))
    assert said("keys") == "1 of 50" and float(said("mass")) == pytest.approx(mass, abs=1e-4)
    scores = torch.rand(5, 3, 40, generator=generator)
    turn, said = opened(dials.contour(scores, 4, 10, key_bytes=1000))
    for level in (0, dials.LEVELS // 2, dials.LEVELS - 1):
        turn(level=level)
        mean, ragged = float(said("mean")), float(said("ragged").split()[0])
        assert ragged == pytest.approx(15 * mean * 1000 / 1e6, abs=0.01)
        assert float(said("padded").split()[0]) >= ragged
