"""What a check file is written with.

    EXERCISE = Exercise(number=1, title=..., difficulty=1, minutes=10, hints=(...))

    @check(points=2, likely="The kept weights must be divided by their sum.")
    def test_two_of_three(answer):
        '''Two of three keys, by hand.'''
        expect_same(answer.forced_output(p, v, kept), want, tolerance=1e-12)

A check is a pytest test with one fixture, `answer`. Its expected values come
from mathematics or from slow loops in float64, never from the learner's code.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from kvteach.grading.answer import WrongAnswer
from kvteach.grading.codec import Foreign


@dataclass(frozen=True)
class Exercise:
    """One exercise. The first hint never gives the answer away."""

    number: int  # its place in the chapter
    title: str
    difficulty: int  # 1 to 3
    minutes: int
    hints: tuple


@dataclass(frozen=True)
class Check:
    """One check: its test function's name, what it is about, what it is worth."""

    name: str
    title: str
    points: int


def check(points, likely):
    """Make a test function a check worth ``points``.

    likely: the mistake that this check is there to find, told after a wrong value.
    """

    def decorate(function):
        @functools.wraps(function)
        def run(answer):
            try:
                function(answer)
            except WrongAnswer as wrong:
                advice = (
                    f"\nOften the cause here: {likely}" if wrong.wrong_value else ""
                )
                message = f"{wrong}{advice}"
            else:
                return
            pytest.fail(message, pytrace=False)

        title = function.__doc__.strip().splitlines()[0].rstrip(".")
        run.check = Check(function.__name__, title, points)
        return run

    return decorate


def checks_of(module):
    """The check functions of a check file's module, in the order written."""
    functions = vars(module).values()
    return [f for f in functions if isinstance(getattr(f, "check", None), Check)]


def expect_same(
    got, want, *, tolerance=0.0, mistakes=None, name="the result", parts=()
):
    """Fail unless ``got`` is ``want``: type, shape, dtype, finiteness, then value.

    Numbers may differ by tolerance * max(1, largest |want|). mistakes: maps a
    sentence to the value that this mistake leads to; a wrong result that
    matches one is told so. name: what the messages call the result; parts: what
    they call the entries of a tuple.
    """
    _expect_kind(got, want, name, parts)
    try:
        _expect_value(got, want, tolerance, name, parts)
    except WrongAnswer as wrong:
        for sentence, value in (mistakes or {}).items():
            if _matches(got, value, max(tolerance, 1e-9)):
                why = f"This is what you get when {sentence}."
                raise WrongAnswer(f"{wrong}\n{why}") from None
        raise


def expect_raises(function, *args, error="ValueError", mentions, **kwargs):
    """Fail unless the call raises ``error`` with a message that has ``mentions``."""
    outcome = function.outcome(*args, **kwargs)
    if outcome.error == "NotImplementedError":
        raise WrongAnswer(outcome.sentence())
    if not outcome.error:
        raise WrongAnswer(
            f"{function.name} returned {_show(outcome.value)}; it must raise {error} "
            f"about {mentions} here",
            wrong_value=True,
        )
    if outcome.error != error:
        raise WrongAnswer(f"{outcome.sentence()}\nIt must raise {error} here.")
    if mentions not in outcome.message:
        raise WrongAnswer(
            f"the message of your {error} is {outcome.message!r}; "
            f"it must name the argument {mentions}"
        )


def expect(condition, message):
    """Fail with the message unless the condition holds."""
    if not condition:
        raise WrongAnswer(message, wrong_value=True)


def _matches(got, want, tolerance):
    try:
        _expect_kind(got, want, "", ())
        _expect_value(got, want, tolerance, "", ())
    except WrongAnswer:
        return False
    return True


def _entries(got, want, name, parts):
    for index, (one, other) in enumerate(zip(got, want)):
        entry = f"the {parts[index]}" if parts else f"entry {index}"
        yield one, other, f"{entry} of {name}"


def _expect_kind(got, want, name, parts):
    if type(got) is not type(want):
        raise WrongAnswer(
            f"{name} is {_kind(got)}; need {_kind(want)}",
            wrong_value=got is None or want is None,
        )
    if isinstance(want, (tuple, list)):
        if len(got) != len(want):
            raise WrongAnswer(f"the length of {name} is {len(got)}; need {len(want)}")
        for one, other, entry in _entries(got, want, name, parts):
            _expect_kind(one, other, entry, ())
    if isinstance(want, (torch.Tensor, np.ndarray)):
        if tuple(got.shape) != tuple(want.shape):
            shapes = f"{list(got.shape)}; need {list(want.shape)}"
            raise WrongAnswer(f"{name} has shape {shapes}")
        if got.dtype != want.dtype:
            raise WrongAnswer(f"{name} has dtype {got.dtype}; need {want.dtype}")
        _expect_finite(torch.as_tensor(got), name)
    if isinstance(want, float) and not math.isfinite(got):
        raise WrongAnswer(f"{name} is {got}", wrong_value=True)


def _expect_finite(got, name):
    bad = int((~torch.isfinite(got)).sum())
    if bad:
        of = f"{bad} of {got.numel()} entries"
        raise WrongAnswer(f"{name} has {of} that are inf or nan", wrong_value=True)


def _expect_value(got, want, tolerance, name, parts):
    if isinstance(want, (torch.Tensor, np.ndarray)):
        _expect_close(torch.as_tensor(got), torch.as_tensor(want), tolerance, name)
    elif isinstance(want, float):
        if abs(got - want) > tolerance * max(1.0, abs(want)):
            raise WrongAnswer(f"{name} is {got:.6g}; need {want:.6g}", wrong_value=True)
    elif isinstance(want, (tuple, list)) and not all(type(x) is int for x in want):
        for one, other, entry in _entries(got, want, name, parts):
            _expect_value(one, other, tolerance, entry, ())
    elif got != want:
        raise WrongAnswer(f"{name} is {got!r}; need {want!r}", wrong_value=True)


def _expect_close(got, want, tolerance, name):
    if not want.numel():
        return
    got, want = got.to(torch.float64), want.to(torch.float64)
    off = (got - want).abs()
    if off.max() <= tolerance * max(1.0, want.abs().max().item()):
        return
    index = np.unravel_index(int(off.argmax()), tuple(off.shape))
    place = f" at [{', '.join(str(int(i)) for i in index)}]" if index else ""
    raise WrongAnswer(
        f"{name} is off by {off.max():.3g}{place}: "
        f"{got[index]:.6g}; need {want[index]:.6g}",
        wrong_value=True,
    )


def _kind(value):
    if value is None:
        return "None"
    kind = value.type_name if isinstance(value, Foreign) else type(value).__name__
    if isinstance(value, (torch.Tensor, np.ndarray)):
        kind = f"{type(value).__module__.partition('.')[0]} tensor"
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _show(value):
    text = _kind(value) if isinstance(value, Foreign) else repr(value)
    return text if len(text) <= 60 else _kind(value)
