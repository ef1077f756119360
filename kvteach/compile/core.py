"""CORE's two learned parts of one model: the indexer, then the memory it writes."""

import time
from dataclasses import asdict

from kvteach.compile import indexer, lessons, memory
from kvteach.scores.coverage import Coverage
from kvteach.scores.fitted import Fitted
from kvteach.scores.indexer import PREFIX, Indexer


def fit(model, documents, held_out, generator, about=None, steps=400, **memory_options):
    """(`Fitted` of both, `indexer.Report`): layers hold indexer.* and memory.* tensors.

    documents: [T] token ids each, of one length, 512 or more; the last ``held_out``
    only judge. The indexer is trained first and then left alone; the authors go on
    training it, slowly, beside the memory. steps: of the indexer. memory_options: as
    `memory.train` takes them. Cost: two prefills and some seconds a document, then
    minutes of training. Raises ValueError for other documents and counts.
    """
    if not 1 <= held_out < len(documents):
        raise ValueError(
            f"held_out: {held_out}; need 1 .. {len(documents) - 1} documents"
        )
    began, teacher = time.process_time(), Coverage()
    reading, decoding = lessons.harvest(model, documents, teacher)
    seen = range(len(documents) - held_out)
    unseen = range(len(seen), len(documents))
    layers = indexer.train(reading.of(seen), decoding.of(seen), generator, steps)
    report = indexer.judge(layers, reading.of(unseen))
    facts = {
        **(about or {}),
        "kind": "core",
        "teacher": asdict(teacher),
        "steps": steps,
        "held_out": {
            "documents": held_out,
            "reading": asdict(report),
            "decoding": asdict(indexer.judge(layers, decoding.of(unseen))),
        },
    }
    rule = Indexer(Fitted(layers, facts))
    memories = memory.train(
        model, documents[: len(seen)], rule, generator, **memory_options
    )
    facts["cpu_seconds"] = round(time.process_time() - began)
    both = [
        {**{PREFIX + name: tensor for name, tensor in ours.items()}, **theirs}
        for ours, theirs in zip(layers, memories)
    ]
    return Fitted(both, facts), report
