"""Checks of ch10/memory."""

from fractions import Fraction

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="The same budget at two times",
    difficulty=1,
    minutes=15,
    hints=(
        "What is in the cache when the eviction begins, in either run? What is added "
        "afterwards?",
        "A share is of what has been read: document, or document and question. At the "
        "boundary the question is added whole.",
        "Boundary: min(s, T) + q for an int, floor(share * T) + q for a share. After the "
        "question: min(s, T + q), floor(share * (T + q)).",
    ),
)

ROUNDING = 1e-12


def held(document, question, budget, boundary):
    """Keys held, a share taken as the decimal fraction that was written."""
    read = document if boundary else document + question
    share = None if isinstance(budget, int) else Fraction(str(budget))
    kept = min(budget, read) if share is None else max(1, int(share * read))
    return kept + (question if boundary else 0)


@check(points=2, likely="at the boundary the question comes on top.")
def test_keys_a_head(answer):
    """Budgets in keys a head, also larger than the text"""
    for document, question, budget in ((4096, 39, 64), (512, 11, 128), (50, 10, 55), (50, 10, 99)):
        late = held(document, question, budget, True)
        early = held(document, question, budget, False)
        got = answer.keys_held(document, question, budget, True)
        mistakes = {
            "the question is not counted": late - question,
            "more is kept than was read": budget + question,
        }
        mistakes = {k: x for k, x in mistakes.items() if x != late}
        expect_same(got, late, mistakes=mistakes, name="the keys held, boundary")
        got = answer.keys_held(document, question, budget, False)
        mistakes = {"the question is not compressed": late}
        mistakes = {k: x for k, x in mistakes.items() if x != early}
        expect_same(got, early, mistakes=mistakes, name="the keys held, after the question")


@check(points=2, likely="a share is of what has been read when the eviction happens.")
def test_shares(answer):
    """Budgets that are shares, rounded down, at least one key"""
    for document, question, budget in (
        (512, 11, 0.25), (1000, 37, 0.5), (90, 10, 0.29), (100, 10, 0.29), (3, 5, 0.125), (40, 8, 1.0),
    ):
        for boundary in (True, False):
            want = held(document, question, budget, boundary)
            other = int(budget * (document + (question if boundary else 0))) + boundary * question
            mistakes = {} if other == want else {"the share is of the other text": other}
            got = answer.keys_held(document, question, budget, boundary)
            name = f"the keys held with {budget} of {document} and {question}"
            expect_same(got, want, mistakes=mistakes, name=name)


@check(points=1, likely="1 is one key, 1.0 is everything; nothing is no budget.")
def test_budgets(answer):
    """One key and the whole text; budgets that are none: ValueError"""
    for budget, want in ((1, 1), (1.0, 60)):
        got = answer.keys_held(50, 10, budget, False)
        expect_same(got, want, name=f"the keys held with {budget!r}")
    for budget in (0, -3, 0.0, 1.5, -0.5):
        expect_raises(answer.keys_held, 50, 10, budget, False, mentions="budget")


@check(points=2, likely="sums over sums, the later run above.")
def test_ratio(answer):
    """Several questions about one document"""
    for document, questions, budget in (
        (4096, [39], 64), (512, [9, 13, 10], 128), (64, [5, 60, 20], 32), (256, [30, 8], 0.25),
    ):
        pairs = [(held(document, q, budget, True), held(document, q, budget, False)) for q in questions]
        want = sum(a for a, _ in pairs) / sum(b for _, b in pairs)
        mistakes = {
            "the ratios are averaged": sum(a / b for a, b in pairs) / len(pairs),
            "the ratio is turned round": 1 / want,
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-9}
        got = answer.memory_ratio(document, questions, budget)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="what the question takes is missing at the boundary.")
def test_equal_memory(answer):
    """A budget for the boundary, or none at all: ValueError"""
    for document, question, budget, want in (
        (4096, 39, 64, 25), (512, 11, 0.25, 119), (50, 10, 99, 50), (50, 10, 11, 1), (80, 20, 0.5, 30),
    ):
        mistakes = {
            "the question is added": want + 2 * question,
            "both budgets are the same": want + question,
        }
        got = answer.budget_at_equal_memory(document, question, budget)
        expect_same(got, want, mistakes=mistakes)
    for question, budget in ((64, 64), (70, 64), (30, 0.25)):
        expect_raises(answer.budget_at_equal_memory, 80, question, budget, mentions="budget")
