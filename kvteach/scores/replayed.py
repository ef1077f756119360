"""Attention of a replayed text over a cache, with the scores that fall out of it.

KVzip asks how strongly each cached key is attended while the model writes its context
down again. The weights that the answer needs are computed for the attention anyway, so
both come from one pass over tiles of query rows, and no T x S matrix ever exists.
"""

import torch

TILE = 64
"""Query rows a tile: R * 64 rows of logits over 4,096 keys fit a processor's cache."""


def attend_and_score(
    queries_htd,
    cached,
    repeated,
    span,
    sinks,
    scaling,
    softcap=None,
    row_weights_t=None,
):
    """Outputs of T replayed rows, and the largest weight each scored key receives.

    Row t sees every cached key and the repeated keys 0 .. t: that is its attention.
    Its scores are a second softmax, over [sinks, keys of the span, repeated 0 .. t]
    only, and the peak of key j is the maximum over rows of weight times row_weights_t.

    queries_htd: after rotary embedding. cached, repeated: (keys, values) of shapes
    [K, S, D] and [K, T, D]. span: first and one past the last cached position to
    score. sinks: leading cached keys that join the softmax, those before the span.

    Returns outputs_htd and peaks_hc, float32 (float64 for float64 queries). Cost
    4 H T (S + T/2) D FLOP and two buffers of 4 R 64 (S + T) bytes.
    """
    wide = torch.float64 if queries_htd.dtype == torch.float64 else torch.float32
    kv_heads = repeated[0].shape[0]
    first, last = span
    sinks = min(sinks, first)
    scored = [slice(0, sinks), slice(first, last)]
    others = [slice(sinks, first), slice(last, cached[0].shape[1])]
    outputs, peaks = [], []
    for head, queries_rtd in enumerate(queries_htd.to(wide).chunk(kv_heads)):
        inside, outside = [], []
        for states_ksd, new_ktd in zip(cached, repeated):
            of_head = states_ksd[head]
            inside.append(
                torch.cat([*(of_head[s] for s in scored), new_ktd[head]]).to(wide)
            )
            outside.append(torch.cat([of_head[s] for s in others]).to(wide))
        output, peak = _one_group(
            queries_rtd * scaling,
            inside,
            outside,
            sinks,
            last - first,
            softcap,
            row_weights_t,
        )
        outputs.append(output)
        peaks.append(peak)
    return torch.cat(outputs), torch.cat(peaks)


def _one_group(queries_rtd, inside, outside, sinks, span, softcap, row_weights_t):
    """The R query heads of one key-value head, tile by tile."""
    group, rows, dim = queries_rtd.shape
    before = len(inside[0]) - rows  # keys that every row sees
    buffer = queries_rtd.new_empty(group * TILE * len(inside[0]))
    output_rtd = torch.empty_like(queries_rtd)
    peak_rc = queries_rtd.new_zeros(group, span)
    for start in range(0, rows, TILE):
        stop = min(start + TILE, rows)
        queries_xd = queries_rtd[:, start:stop].reshape(-1, dim)
        keys, values = (states[: before + stop] for states in inside)
        logits_xs = _logits(queries_xd, keys, softcap, buffer)
        weights = logits_xs.view(group, stop - start, -1)
        _hide_future(weights[:, :, before + start :])
        outer = (
            _outer(queries_xd, outside, softcap, logits_xs) if len(outside[0]) else None
        )
        torch.softmax(logits_xs, -1, out=logits_xs)
        output_xd = logits_xs @ values
        if outer is not None:
            output_xd = torch.lerp(output_xd, *outer)
        output_rtd[:, start:stop] = output_xd.view(group, -1, dim)
        scored = weights[:, :, sinks : sinks + span]
        if row_weights_t is not None:
            scored = scored.mul_(row_weights_t[start:stop, None])
        torch.maximum(peak_rc, scored.amax(1), out=peak_rc)
    return output_rtd, peak_rc


def _logits(queries_xd, keys_sd, softcap, buffer=None):
    """q k, capped if the model caps them, [X, S], in the buffer when there is one."""
    if buffer is not None:
        buffer = buffer[: len(queries_xd) * len(keys_sd)].view(len(queries_xd), -1)
    logits_xs = torch.mm(queries_xd, keys_sd.T, out=buffer)
    return (
        logits_xs if softcap is None else logits_xs.div_(softcap).tanh_().mul_(softcap)
    )


def _hide_future(logits_rtt):
    """Put -inf above the diagonal."""
    rows = logits_rtt.shape[-1]
    future = torch.ones(rows, rows, dtype=torch.bool, device=logits_rtt.device).triu(1)
    logits_rtt.masked_fill_(future, -torch.inf)


def _outer(queries_xd, outside, softcap, logits_xs):
    """Output over the keys that are not scored, and their share of all the mass."""
    outer_xs = _logits(queries_xd, outside[0], softcap)
    mass_outer = outer_xs.logsumexp(-1, keepdim=True)
    share = (mass_outer - logits_xs.logsumexp(-1, keepdim=True)).sigmoid()
    return outer_xs.softmax(-1) @ outside[1], share
