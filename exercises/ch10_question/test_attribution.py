"""Checks of ch10/attribution."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=5,
    title="What a difference is made of",
    difficulty=3,
    minutes=30,
    hints=(
        "Which questions may take part in a comparison of three conditions, and what is "
        "one independent observation: a question or a document?",
        "Throw out rows with a NaN first. Then average the differences inside each "
        "document; changes and resamples only ever see one line per document.",
        "by_document gives [d, 3]; changes is its mean over lines; interval indexes it "
        "with draws_bd, averages over dimension 1 and takes quantiles over dimension 0.",
    ),
)

ROUNDING = 1e-10
"""Means and quantiles of points up to 100, in float64."""
NAN = math.nan


def example(seed, documents=6, most=5, missing=0.15):
    """Hits and misses of some questions on documents with odd numbers, some missing."""
    generator = torch.Generator().manual_seed(seed)
    numbers = 7 * torch.randperm(40, generator=generator)[:documents] + 3
    counts = torch.randint(1, most + 1, (documents,), generator=generator)
    document = numbers.repeat_interleave(counts)
    chance = torch.tensor([0.8, 0.3, 0.4])
    score = (torch.rand(len(document), 3, generator=generator) < chance).double()
    score[torch.rand(score.shape, generator=generator) < missing] = NAN
    score[0] = torch.tensor([1.0, 0.0, 0.0])
    mixed = torch.randperm(len(document), generator=generator)
    return score[mixed], document[mixed]


def steps(score, document, whole=True, single=False):
    """The definition with lists: one line per document, or per question if single."""
    lines = {}
    for index, (row, number) in enumerate(zip(score.tolist(), document.tolist())):
        if whole and any(math.isnan(x) for x in row):
            continue
        visible, middle, after = ([] if math.isnan(x) else [100 * x] for x in row)
        kept = lines.setdefault((number, index if single else 0), ([], [], []))
        for column, values in zip(kept, (visible, middle, after)):
            column += values
    means = [[sum(c) / len(c) if c else NAN for c in kept] for _, kept in sorted(lines.items())]
    table = [[m - v, a - m, a - v] for v, m, a in means]
    return torch.tensor(table, dtype=torch.float64)


@check(points=3, likely="a question without all three scores takes part in nothing.")
def test_by_document(answer):
    """One line a document, by hand and at random"""
    score = torch.tensor(
        [[1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1], [1, NAN, 0], [0, 1, NAN]],
        dtype=torch.float64,
    )
    document = torch.tensor([9, 4, 9, 4, 9, 2])
    want = torch.tensor([[0.0, 0, 0], [-100, 50, -50]], dtype=torch.float64)
    cases = [(score, document, want)]
    cases += [(*example(seed), None) for seed in (1050, 1051, 1052)]
    for score, document, want in cases:
        want = steps(score, document) if want is None else want
        mistakes = {
            "the changes have the other sign": -want,
            "they are shares and not points": want / 100,
            "questions count that lack a score": steps(score, document, whole=False),
            "documents are in another order": want.flip(0),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.by_document(score, document)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="first a mean over the questions of a document, then over documents.")
def test_changes(answer):
    """Documents weigh the same, questions don't"""
    for seed in (1053, 1054, 1055):
        score, document = example(seed)
        table = steps(score, document)
        want = table.mean(0)
        mistakes = {
            "every question weighs the same": steps(score, document, single=True).mean(0),
            "the median is taken": table.median(0).values,
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        got = answer.changes(score, document)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=1, likely="without one whole question there is nothing to compare.")
def test_nothing_whole(answer):
    """No question with all three scores: ValueError"""
    score = torch.tensor([[1, NAN, 0], [NAN, 1, 1]], dtype=torch.float64)
    for function in (answer.by_document, answer.changes):
        expect_raises(function, score, torch.tensor([0, 1]), mentions="score_qc")


@check(points=3, likely="a resample is a set of documents; quantiles are over resamples.")
def test_interval(answer):
    """Intervals from given draws"""
    for seed in (1056, 1057):
        score, document = example(seed, documents=9)
        table = steps(score, document)
        generator = torch.Generator().manual_seed(seed)
        draws = torch.randint(len(table), (60, len(table)), generator=generator)
        found = torch.stack([torch.stack([table[i] for i in line]).mean(0) for line in draws])
        ends = found.sort(0).values
        # The 2.5% quantile of 60 values lies at place 0.025 * 59 = 1.475.
        low = ends[1] + 0.475 * (ends[2] - ends[1])
        high = ends[57] + 0.525 * (ends[58] - ends[57])
        want = torch.stack([low, high], 1)
        level = torch.tensor([0.05, 0.95], dtype=torch.float64)
        mistakes = {
            "low and high are the lines": want.T.reshape(3, 2),
            "the interval holds 90%": torch.quantile(found, level, dim=0).T,
            "the whole range of resamples is taken": torch.stack([ends[0], ends[-1]], 1),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        got = answer.interval(score, document, draws)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
