"""Documents without prose: a pass key in noise, a list of words, labelled examples."""

import torch

from kvteach.evaluate.tasks.example import Example, ask, encode, numbers, opening, pick
from kvteach.evaluate.tasks.haystack import depths_of

NOISE = (
    " The grass is green. The sky is blue. The sun is yellow. Here we go. There and "
    "back again."
)
KINDS = {
    "fish": "trout salmon cod herring tuna carp pike haddock mackerel sardine",
    "bird": "sparrow eagle robin pigeon crow owl swan parrot heron finch",
    "tool": "hammer saw drill wrench chisel axe pliers shovel rake screwdriver",
    "fruit": "apple pear banana cherry plum grape mango peach lemon melon",
    "metal": "iron copper silver gold tin zinc lead nickel platinum aluminium",
}
KINDS = {kind: tuple(words.split()) for kind, words in KINDS.items()}
WORDS = tuple(word for words in KINDS.values() for word in words)


def passkey(source, length, generator, depths=None, digits=5):
    """A pass key among sentences that repeat (Mohtashami and Jaggi 2023)."""
    (key,) = numbers(1, digits, generator)
    (depth,) = depths_of(1, depths, generator)
    fact = encode(
        source.tokenizer, f" The pass key is {key}. Remember it. {key} is the pass key."
    )
    start = opening(source.tokenizer)
    room = _room(length, len(start) + len(fact))
    noise = encode(source.tokenizer, NOISE)
    text = noise.repeat(room // len(noise) + 1)[:room]
    place = min(round(depth * room / len(noise)) * len(noise), room)
    document = torch.cat([start, text[:place], fact, text[place:]])
    question = "\n\nThe pass key is"
    found = (len(start) + place) / length
    answer = ask(source.tokenizer, question, f" {key}", found, [key])
    return Example(document, (answer,), f"noise {key}", "passkey")


def frequent_word(source, length, generator, depths=None, share=0.3):
    """A list of words of which one fills ``share``: which? No single place answers.

    After RULER's extraction of frequent words, with one word instead of three.
    """
    _no_depths("frequent_word", depths)
    words = pick(WORDS, 20, generator)
    ids = [encode(source.tokenizer, f" {word},") for word in words]
    start = torch.cat(
        [opening(source.tokenizer), encode(source.tokenizer, "A list of words:")]
    )
    parts, missing = [start], _room(length, len(start))
    while missing > 0:
        often = bool(torch.rand((), generator=generator) < share)
        rare = int(torch.randint(1, len(words), (), generator=generator))
        parts.append(ids[0 if often else rare])
        missing -= len(parts[-1])
    question = "\n\nThe word that occurs most often in the list above is"
    answer = ask(source.tokenizer, question, f" {words[0]}", accepted=[words[0]])
    return Example(
        torch.cat(parts)[:length], (answer,), _own(generator), "frequent_word"
    )


def few_shot(source, length, generator, depths=None):
    """Words labelled by kind fill the document; an unseen one of each kind is asked."""
    _no_depths("few_shot", depths)
    hidden = {kind: pick(words, 1, generator)[0] for kind, words in KINDS.items()}
    shown = [
        encode(source.tokenizer, f"Word: {word}\nKind: {kind}\n\n")
        for kind, words in KINDS.items()
        for word in words
        if word != hidden[kind]
    ]
    start = opening(source.tokenizer)
    parts, missing = [start], _room(length, len(start))
    while missing > 0:
        for block in pick(shown, len(shown), generator):
            parts.append(block)
            missing -= len(block)
    document = torch.cat(parts)
    # The end stays whole, because the question follows on: cut what is over in front.
    document = torch.cat([start, document[len(document) - length + len(start) :]])
    questions = [
        ask(source.tokenizer, f"Word: {word}\nKind:", f" {kind}", accepted=[kind])
        for kind, word in hidden.items()
    ]
    return Example(document, tuple(questions), _own(generator), "few_shot")


def _room(length, taken, least=64):
    if length < taken + least:
        raise ValueError(f"length: {length}; need at least {taken + least}")
    return length - taken


def _no_depths(task, depths):
    if depths is not None:
        raise ValueError(f"depths: {depths}; {task} has its answer in no one place")


def _own(generator):
    """A cluster of its own: no other example shares these random words."""
    return f"random {int(torch.randint(2**62, (), generator=generator))}"
