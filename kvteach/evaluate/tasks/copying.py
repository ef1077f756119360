"""Going on with a passage of the document, and looking up constants in code."""

import torch

from kvteach.evaluate.tasks.example import Example, Question, ask, encode, numbers, pick
from kvteach.evaluate.tasks.haystack import depths_of, hide

CONSTANTS = (
    "MAX_RETRIES", "CACHE_LIMIT", "PORT_OFFSET", "BATCH_WIDTH", "FRAME_DEPTH",
    "TOKEN_BUDGET", "IDLE_SECONDS", "QUEUE_LENGTH", "PIXEL_MARGIN", "RETRY_DELAY",
    "SHARD_COUNT", "WINDOW_STEP", "LOG_ROTATION", "BEAM_SIZE",
)  # fmt: skip


def repeated_span(source, length, generator, depths=None, count=4, given=32, asked=16):
    """Passages of the document: ``given`` tokens are repeated, ``asked`` more wanted.

    Verbatim copying needs every key of the passage, so it feels evictions that facts
    survive. Count right tokens, not whole spans: even the full cache slips at times.
    """
    span = given + asked
    if length < count * span:
        raise ValueError(f"length: {length}; spans need at least {count * span}")
    document, _, name = hide(source, [], length, [])
    depths = depths_of(count, depths, generator)
    break_ids = encode(source.tokenizer, "\n\n")
    questions = []
    for depth in depths:
        first = round(depth * (length - span))
        middle = first + given
        tokens = torch.cat([break_ids, document[first:middle]])
        answer = document[middle : middle + asked]
        questions.append(Question(tokens, answer, middle / length))
    task = "repeated_code" if source.corpus == "code" else "repeated_span"
    return Example(document, tuple(questions), name, task, {"given": given})


def code_lookup(source, length, generator, depths=None, count=10, demos=2, digits=2):
    """Constants set here and there in real code; all but ``demos`` are asked for.

    The question shows the demos, solved, before the one that it asks for.
    """
    names = pick(CONSTANTS, count, generator)
    values = numbers(count, digits, generator)
    depths = depths_of(count, depths, generator)
    lines = [f"{key} = {value}\n" for key, value in zip(names, values)]
    document, found, name = hide(source, lines, length, depths)
    order = torch.randperm(count, generator=generator).tolist()
    solved = "".join(lines[i] for i in order[:demos])
    questions = [
        ask(
            source.tokenizer,
            f"\n\n# Constants\n{solved}{names[i]} =",
            f" {values[i]}",
            found[i],
            [values[i]],
        )
        for i in order[demos:]
    ]
    return Example(document, tuple(questions), name, "code_lookup", {"demos": demos})
