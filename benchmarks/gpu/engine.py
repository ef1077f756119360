"""Prefill, compression and decoding of the bundled model, beside its full cache."""

import torch
from transformers import DynamicCache

from benchmarks.gpu import timing
from kvteach import corpora, engine, methods, models

METHODS = ("snapkv", "adakv", "knorm", "tova", "kvzip", "certkv", "page-entrokv", "compilerkv")
SHARE = 0.2
AGREE = 2e-3
"""Largest difference of logits between ragged and masked storage of the same keys, relative
to the logits' spread, in float32: 30 layers sum in another order."""


def run(device, size):
    """Ratios over the full cache in one run, after two stores were seen to agree."""
    length, batch, steps = (8000, 8, 32) if size == "full" else (512, 2, 2)
    chosen = METHODS if size == "full" else METHODS[:2]
    found = {"tokens": length, "batch": batch, "share": SHARE,
             "agreement": agreement(device, min(length, 1024))}
    loaded = models.load(device=device, dtype=torch.bfloat16)
    tokens = text(loaded.tokenizer, length)
    prompts = tokens.expand(batch, -1).to(device)

    def plain():
        with torch.no_grad():
            cache = DynamicCache(config=loaded.model.config)
            loaded.model.base_model(prompts, **{models.cache_argument(loaded.model): cache})
            return cache

    repeats = 5 if size == "full" else 1
    base = timing.seconds(plain, device, repeats, warm=1)
    found["full"] = {"prefill_s": base, "decode_s": decode(loaded.model, plain(), prompts, steps)}
    for name in chosen:
        def compressed():
            return engine.compress(loaded.model, prompts, name, SHARE)

        taken = timing.seconds(compressed, device, repeats, warm=1)
        session = compressed()
        with session.attention():
            each = decode(loaded.model, session.cache, prompts, steps)
        found[name] = {"prefill_s": taken, "prefill_ratio": taken / base, "decode_s": each,
                       "decode_ratio": each / found["full"]["decode_s"],
                       "bytes_ratio": session.ledger.compressed / session.ledger.full}
    return found


def agreement(device, length):
    """Logits over ragged storage against the same keys masked, off by so much of their spread."""
    loaded = models.load(device=device, dtype=torch.float32)
    tokens = text(loaded.tokenizer, length)
    ragged, masked = (
        engine.compress(loaded.model, tokens, methods.get("adakv", store=store), SHARE)
        .logits(tokens[:, :8]).float() for store in ("ragged", "masked"))
    off = ((ragged - masked).abs().max() / masked.std()).item()
    if not off <= AGREE:
        raise AssertionError(f"logits differ by {off:.2g} of their spread; allowed {AGREE}")
    return off


def decode(model, cache, prompts, steps):
    """Seconds of one token for the whole batch; the cache grows as it does in use."""
    ids, seen = prompts[:, -1:], cache.get_seq_length()

    def step():
        nonlocal seen
        place = torch.full_like(ids, seen)
        with torch.no_grad():
            model(ids, position_ids=place, **{models.cache_argument(model): cache})
        seen += 1

    return timing.seconds(step, model.device, steps, warm=2)


def text(tokenizer, length):
    """The first ``length`` tokens of English documents, one after another, [1, length]."""
    read = []
    for document in corpora.documents("english")[120:]:
        read.append(document.tokens(tokenizer, min(1024, length - sum(map(len, read)))))
        if sum(map(len, read)) == length:
            return torch.cat(read)[None]
    raise ValueError(f"length: {length}; the corpus is shorter")
