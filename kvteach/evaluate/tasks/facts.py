"""Facts hidden in real prose: told apart by wording, by name, by value, by a detour.

Questions repeat the fact's own words up to its value. A small model answers those; it
does not answer questions in other words, and look-alike facts confuse it sooner than
length does.
"""

from kvteach.evaluate.tasks.example import Example, ask, numbers, pick
from kvteach.evaluate.tasks.haystack import depths_of, hide

WORDINGS = (
    "The serial number of the old falcon is",
    "The locksmith set the combination of the north vault to",
    "The librarian filed the blue atlas under shelf mark",
    "Astronomers listed the green comet as entry number",
    "The postal code of the village of Harwick is",
    "The pilot tuned the cockpit radio to channel",
    "The museum paid for the bronze heron a sum of",
    "The brewery sealed its oldest barrel with stamp",
    "The winning ticket of the harvest lottery was",
    "The mountain hut keeps its spare key in locker",
    "The telephone extension of the head gardener is",
    "The submarine dived to the wreck at marker",
    "The orchestra rents its harp under contract",
    "The clinic stores the vaccine in freezer",
    "The patent for the folding bicycle has number",
    "The ferry to Lindholm departs from pier",
)
"""Beginnings of facts that share no words that matter; each ends before a number."""

COLOURS = ("red", "blue", "green", "white", "black", "yellow", "purple", "orange")
ANIMALS = ("fox", "owl", "bear", "wolf", "horse", "eagle", "tiger", "rabbit", "otter")
NAMES = ("ALPHA", "BRAVO", "DELTA", "INDIGO", "KILO", "OSCAR", "TANGO", "VICTOR")


def mixed_facts(source, length, generator, depths=None, count=8, digits=5):
    """``count`` facts, each in its own words, each asked for."""
    stems = pick(WORDINGS, count, generator)
    return _stated("mixed_facts", stems, source, length, generator, depths, digits)


def same_facts(source, length, generator, depths=None, count=10, digits=5):
    """``count`` facts that differ only in a colour and an animal: interference."""
    pairs = [f"{colour} {animal}" for colour in COLOURS for animal in ANIMALS]
    stems = [f"The access code of the {p} is" for p in pick(pairs, count, generator)]
    return _stated("same_facts", stems, source, length, generator, depths, digits)


def needle(source, length, generator, depths=None, digits=5):
    """One fact, one question."""
    stems = pick(WORDINGS, 1, generator)
    return _stated("needle", stems, source, length, generator, depths, digits)


def _stated(task, stems, source, length, generator, depths, digits):
    """Facts "<stem> <number>." hidden in prose, each asked for by its stem."""
    values = numbers(len(stems), digits, generator)
    depths = depths_of(len(stems), depths, generator)
    sentences = [f" {stem} {value}." for stem, value in zip(stems, values)]
    document, found, name = hide(source, sentences, length, depths)
    questions = [
        ask(source.tokenizer, f"\n\n{stem}", f" {value}", depth, [value])
        for stem, value, depth in zip(stems, values, found)
    ]
    return Example(document, tuple(questions), name, task, {"stems": stems})


def multi_value(source, length, generator, depths=None, count=4, digits=3):
    """One name with ``count`` values, asked for at once, in the order of the text."""
    who = f"{pick(COLOURS, 1, generator)[0]} {pick(ANIMALS, 1, generator)[0]}"
    values = numbers(count, digits, generator)
    depths = sorted(depths_of(count, depths, generator))
    sentences = [f" One of the magic numbers of the {who} is {v}." for v in values]
    document, found, name = hide(source, sentences, length, depths)
    question = f"\n\nThe magic numbers of the {who} are, in the order of the text,"
    answer = ask(source.tokenizer, question, f" {', '.join(values)}", found[0], values)
    return Example(document, (answer,), name, "multi_value", {"depths": found})


def variable_tracking(
    source, length, generator, depths=None, hops=1, chains=2, digits=5
):
    """Chains ``VAR A = 12345``, ``VAR B = VAR A``, ...: what is the last one's value?

    After the RULER task of that name (Hsieh et al. 2024), which asks which variables
    hold a value instead.
    """
    names = pick(NAMES, chains * (hops + 1), generator)
    values = numbers(chains, digits, generator)
    depths = sorted(depths_of(len(names), depths, generator))
    links = [names[i::chains] for i in range(chains)]
    sentences = []
    for step in range(hops + 1):
        for chain, value in zip(links, values):
            told = f"VAR {chain[step - 1]}" if step else value
            sentences.append(f" VAR {chain[step]} = {told}.")
    document, found, name = hide(source, sentences, length, depths)
    questions = [
        ask(
            source.tokenizer,
            f"\n\nThe value of VAR {chain[-1]} is",
            f" {value}",
            found[i],
            [value],
        )
        for i, (chain, value) in enumerate(zip(links, values))
    ]
    return Example(
        document, tuple(questions), name, "variable_tracking", {"hops": hops}
    )
