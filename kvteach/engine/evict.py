"""What a method decides about layers that have been read: scores, kept sets, the rest."""

import torch


def rows_read(method):
    """How many of the last rows the method reads as queries; None for all of them."""
    windows = [
        getattr(rule, "window", None)
        for rule in (method.score, method.compensate)
        if rule is not None and not getattr(rule, "second_pass", False)
    ]
    return None if None in windows else max(windows, default=0)


def charge(method, dim):
    """Keys per KV head that what stands for the evicted ones is worth in bytes."""
    return 0 if method.compensate is None else method.compensate.charge(dim)


def checked(method, score_ks, index):
    """A rule's score, with the newest token above all; ValueError for NaN."""
    if torch.isnan(score_ks).any():
        raise ValueError(
            f"model: {method.name} scores keys of layer {index} as NaN; the "
            "model's weights are not finite, or its logits overflow"
        )
    score_ks = score_ks.clone()
    score_ks[:, -1] = torch.inf
    return score_ks


def keep(method, scores, values, entries, places, depth, loss_t=None):
    """Kept masks [K, S] of one sequence's layers; everything where the budget covers it.

    scores, values: of each layer; places: which of the ``depth`` compressed layers they
    are; loss_t: nats of the last tokens, for budgets that read them. What stands for the
    evicted keys is paid out of ``entries``.
    """
    if entries >= scores[0].shape[1]:
        return [torch.ones_like(score, dtype=torch.bool) for score in scores]
    return chosen(method, scores, values, entries, places, depth, loss_t)


def chosen(method, scores, values, entries, places, depth, loss_t=None):
    """As `keep`, where something must go: what stands for it is paid for in any case."""
    spent = charge(method, values[0].shape[-1])
    paid = f" ({spent} of them for what stands for evicted keys)" if spent else ""
    whose = f"budget: {entries} keys per head{paid} for {method.name}"
    if entries <= spent:
        raise ValueError(f"{whose}: at least one key more is needed")
    reads_values = getattr(method.budget, "reads_values", False)
    more = (values,) if reads_values else ()
    more += (loss_t,) if getattr(method.budget, "reads_loss", 0) else ()
    try:
        return method.budget(scores, entries - spent, places, depth, *more)
    except ValueError as error:
        raise ValueError(f"{whose}: {error}") from error


def rest(method, views, kept, scores, before=None):
    """What stands for the evicted keys of one layer, B sequences; None for nothing.

    views, kept, scores: of each sequence; before: the rests of an earlier eviction.
    """
    if method.compensate is None:
        return None
    before = [None] * len(views) if before is None else before
    rests = [
        method.compensate(*arguments) for arguments in zip(views, kept, scores, before)
    ]
    return type(rests[0]).stack(rests)
