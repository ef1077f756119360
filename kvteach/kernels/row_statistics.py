"""Dropped mass, missing statistic, Phi and top sets of every row, in one pass over K, V.

Two launches. `_one_pass` reads each key and value tile once for a tile of rows, with an
online softmax and the running top s in registers: a weight's logit, in an order that
integers share, above its position turned round, so that one integer maximum also sends
ties to the earlier key. `_gather` then reads the s values that a row keeps. The attention
matrix, H n S numbers, is never written.
"""

from typing import NamedTuple

import torch

from kvteach.kernels.launch import choose, jit, tl, triton

ROWS, KEYS = 16, 64


class RowStatistics(NamedTuple):
    """What `row_statistics` returns; B budgets, s the largest of them."""

    dropped_hnb: torch.Tensor  # 1 - p(A), float32
    missing_hnbd: torch.Tensor  # u = sum over the evicted of p_j v_j, float32
    phi_hnb: torch.Tensor  # ||sum over A of p_j (v_j - mu)||, float32
    top_hns: torch.Tensor  # keys by falling weight, int64; -1 after the last visible one
    output_hnd: torch.Tensor  # mu, float32


def row_statistics(
    queries_hnd, keys_ksd, values_ksd, budgets, scaling,
    visible_ns=None, softcap=None, backend=None,
):  # fmt: skip
    """The top-mass statistics of all rows of a layer at several budgets.

    queries_hnd [H, n, D], keys_ksd and values_ksd [K, S, D], of one dtype; visible_ns
    [n, S] bool, None: every key is visible. budgets: whole numbers 1 .. S. Equal logits
    are ties and go to the earlier key, as in `kvteach.rows.select.top_mass`. A budget
    above a row's visible keys keeps them all. Sums in float32: dropped mass is 1 minus
    a sum, so it is right to about 1e-6, absolutely. Cost and bytes: `work`. Raises
    ValueError for shapes that do not fit, budgets out of range, rows that see no key; the
    kernel also for budgets above 64 or a D that is no power of two.
    """
    budgets = _require(queries_hnd, keys_ksd, values_ksd, budgets, visible_ns)
    run = _triton if choose(backend, queries_hnd, keys_ksd, values_ksd) == "triton" else _torch
    return run(queries_hnd, keys_ksd, values_ksd, budgets, scaling, visible_ns, softcap)


def work(heads, kv_heads, rows, length, dim, budgets, itemsize, row_tile=ROWS):
    """(bytes read of keys, of values in the pass, of values in the gather, FLOP).

    K and V are read once for every ``row_tile`` of the R n rows of a KV head; the gather
    reads the largest budget's values a row, where the row sees that many.
    """
    tiles = -(-heads // kv_heads * rows // row_tile)
    once = kv_heads * tiles * length * dim * itemsize
    gathered = heads * rows * max(budgets) * dim * itemsize
    return once, once, gathered, 4 * heads * rows * length * dim


def _require(queries_hnd, keys_ksd, values_ksd, budgets, visible_ns):
    heads, rows, dim = queries_hnd.shape
    kv_heads, length, _ = keys_ksd.shape
    if keys_ksd.shape != values_ksd.shape or keys_ksd.shape[2] != dim or heads % kv_heads:
        raise ValueError(
            f"keys_ksd, values_ksd: shapes {tuple(keys_ksd.shape)}, "
            f"{tuple(values_ksd.shape)}; need [K, S, {dim}] twice, K a divisor of {heads}"
        )
    if not queries_hnd.dtype == keys_ksd.dtype == values_ksd.dtype:
        raise ValueError(f"queries_hnd: dtype {queries_hnd.dtype}; need that of keys and values")
    budgets = tuple(int(budget) for budget in budgets)
    if not budgets or not all(1 <= budget <= length for budget in budgets):
        raise ValueError(f"budgets: {budgets}; need some, each 1 .. {length}")
    if visible_ns is not None:
        if visible_ns.shape != (rows, length) or visible_ns.dtype != torch.bool:
            raise ValueError(
                f"visible_ns: {visible_ns.dtype} {tuple(visible_ns.shape)}; "
                f"need torch.bool [{rows}, {length}]"
            )
        if not visible_ns.any(-1).all():
            raise ValueError("visible_ns: a row sees no key; need at least one each")
    return budgets


def _torch(queries_hnd, keys_ksd, values_ksd, budgets, scaling, visible_ns, softcap):
    """The reference: says what is computed, and does write the attention matrix."""
    group = queries_hnd.shape[0] // keys_ksd.shape[0]
    keys_hsd = keys_ksd.float().repeat_interleave(group, 0)
    values_hsd = values_ksd.float().repeat_interleave(group, 0)
    logits = queries_hnd.float() @ keys_hsd.transpose(1, 2) * scaling
    if softcap is not None:
        logits = softcap * (logits / softcap).tanh()
    if visible_ns is not None:
        logits = logits.masked_fill(~visible_ns, -torch.inf)
    p_hns = logits.softmax(-1)
    output_hnd = p_hns @ values_hsd
    order = logits.argsort(dim=-1, descending=True, stable=True)[..., : max(budgets)]
    parts = []
    for budget in budgets:
        kept = torch.zeros_like(p_hns).scatter(-1, order[..., :budget], 1) * p_hns
        mass, sum_hnd = kept.sum(-1), kept @ values_hsd
        parts.append(_of_kept(mass, sum_hnd, output_hnd))
    seen = logits.gather(-1, order) > -torch.inf
    return RowStatistics(*_stack(parts), order.where(seen, -1), output_hnd)


def _of_kept(mass, sum_hnd, output_hnd):
    phi = (sum_hnd - mass[..., None] * output_hnd).norm(dim=-1)
    return 1 - mass, output_hnd - sum_hnd, phi


def _stack(parts):
    dropped, missing, phi = zip(*parts)
    return torch.stack(dropped, -1), torch.stack(missing, -2), torch.stack(phi, -1)


# --- the kernels ------------------------------------------------------------------


@jit
def _ordered(x):
    """float32 as int64 of the same order (a sign bit turns the others round)."""
    bits = x.to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)


@jit
def _logit(packed):
    """The float32 that `_ordered` packed above the position."""
    bits = (packed >> 32).to(tl.int32)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.float32, bitcast=True)


@jit
def _one_pass(
    queries, keys, values, visible, output, lse, top,
    rows, length, scaling, softcap,
    GROUP: tl.constexpr, DIM: tl.constexpr, TOP: tl.constexpr,
    ROWS: tl.constexpr, KEYS: tl.constexpr, MASKED: tl.constexpr, CAPPED: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """One tile of the GROUP rows rows of a KV head; all tensors contiguous.

    Reads queries [H, rows, DIM], keys, values [K, length, DIM], visible [rows, length]
    bytes if MASKED. Writes output [H, rows, DIM], lse [H, rows], top [H, rows, TOP].
    """
    head = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    real = row < GROUP * rows
    flat = head * GROUP * rows + row
    dim, lane = tl.arange(0, DIM), tl.arange(0, KEYS)
    q = tl.load(queries + flat[:, None] * DIM + dim, mask=real[:, None], other=0.0)
    best = tl.full([ROWS, TOP], -0x7FFFFFFFFFFFFFFF, tl.int64)
    peak = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    for start in range(0, length, KEYS):
        key = start + lane
        there = key < length
        place = (head * length + key)[:, None] * DIM + dim
        k = tl.load(keys + place, mask=there[:, None], other=0.0)
        x = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scaling
        if CAPPED:
            # tanh by exp, of a number that cannot overflow
            e = tl.exp(-2.0 * tl.abs(x) / softcap)
            x = tl.where(x < 0, -softcap, softcap) * (1 - e) / (1 + e)
        seen = real[:, None] & there[None, :]
        if MASKED:
            at = (row % rows).to(tl.int64)[:, None] * length + key[None, :]
            seen = seen & (tl.load(visible + at, mask=seen, other=0) != 0)
        x = tl.where(seen, x, -float("inf"))
        higher = tl.maximum(peak, tl.max(x, 1))
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        weight = tl.exp(x - safe[:, None])
        scale = tl.exp(peak - safe)
        v = tl.load(values + place, mask=there[:, None], other=0.0)
        total = total * scale + tl.sum(weight, 1)
        acc = acc * scale[:, None] + tl.dot(
            weight, v.to(tl.float32), input_precision=PRECISION
        )
        peak = higher
        # -0.0 and 0.0 are one logit: adding 0 gives both the same bits.
        packed = (_ordered(x + 0.0) << 32) | (0x7FFFFFFF - key).to(tl.int64)[None, :]
        packed = tl.where(seen, packed, -0x7FFFFFFFFFFFFFFF)
        fresh = tl.topk(packed, TOP)
        both = tl.reshape(tl.join(best, fresh), [ROWS, 2 * TOP])
        best = tl.topk(both, TOP)
    total = tl.where(real, total, 1.0)  # rows of padding have none
    tl.store(output + flat[:, None] * DIM + dim, acc / total[:, None], mask=real[:, None])
    tl.store(lse + flat, peak + tl.log(total), mask=real)
    rank = tl.arange(0, TOP)
    tl.store(top + flat[:, None] * TOP + rank, best, mask=real[:, None])


@jit
def _gather(
    values, top, lse, output, dropped, missing, phi, rows, length,
    GROUP: tl.constexpr, DIM: tl.constexpr, TOP: tl.constexpr, ROWS: tl.constexpr,
    EDGES: tl.constexpr, BUDGETS: tl.constexpr,
):  # fmt: skip
    """What the top keys hold, at rising budgets EDGES[1:]; EDGES[0] is 0."""
    head = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    real = row < GROUP * rows
    flat = head * GROUP * rows + row
    dim = tl.arange(0, DIM)
    mu = tl.load(output + flat[:, None] * DIM + dim, mask=real[:, None], other=0.0)
    norm = tl.load(lse + flat, mask=real, other=0.0)
    mass = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    for edge in tl.static_range(BUDGETS):
        for rank in range(EDGES[edge], EDGES[edge + 1]):
            packed = tl.load(top + flat * TOP + rank, mask=real, other=-0x7FFFFFFFFFFFFFFF)
            seen = real & (packed > -0x7FFFFFFFFFFFFFFF)
            key = 0x7FFFFFFF - (packed & 0x7FFFFFFF)
            p = tl.where(seen, tl.exp(_logit(packed) - norm), 0.0)
            place = (head * length + key)[:, None] * DIM + dim
            v = tl.load(values + place, mask=seen[:, None], other=0.0).to(tl.float32)
            mass += p
            acc += p[:, None] * v
        away = acc - mass[:, None] * mu
        at = flat * BUDGETS + edge
        tl.store(dropped + at, 1 - mass, mask=real)
        tl.store(phi + at, tl.sqrt(tl.sum(away * away, 1)), mask=real)
        tl.store(missing + at[:, None] * DIM + dim, mu - acc, mask=real[:, None])


def _precision(dtype):
    """How weights times values are formed.

    Half-precision values are exact in tf32, so three products of tf32 are float32 but for
    2**-21, and run on tensor cores. float32, and AMD, which has no tf32x3, take "ieee".
    """
    return "ieee" if torch.version.hip or dtype == torch.float32 else "tf32x3"


def _triton(queries_hnd, keys_ksd, values_ksd, budgets, scaling, visible_ns, softcap):
    heads, rows, dim = queries_hnd.shape
    kv_heads, length, _ = keys_ksd.shape
    group, rising = heads // kv_heads, sorted(set(budgets))
    size = rising[-1]
    if size > KEYS or dim & (dim - 1):
        raise ValueError(
            f"budgets, D: {size}, {dim}; the kernel takes budgets 1 .. {KEYS} and a "
            "power of two for D (backend='torch' takes all)"
        )
    TOP = KEYS  # fewer would save little, and spill registers at D = 128
    new = queries_hnd.new_empty
    output, lse = new(heads, rows, dim, dtype=torch.float32), new(heads, rows, dtype=torch.float32)
    top = new(heads, rows, TOP, dtype=torch.int64)
    shape = (heads, rows, len(rising))
    dropped, phi = new(shape, dtype=torch.float32), new(shape, dtype=torch.float32)
    missing = new(*shape, dim, dtype=torch.float32)
    queries, keys, values = (x.contiguous() for x in (queries_hnd, keys_ksd, values_ksd))
    if rows:
        grid = (triton.cdiv(group * rows, ROWS), kv_heads)
        visible = queries if visible_ns is None else visible_ns.contiguous().view(torch.uint8)
        _one_pass[grid](
            queries, keys, values, visible, output, lse, top,
            rows, length, float(scaling), float(softcap or 0), group, dim, TOP, ROWS, KEYS,
            visible_ns is not None, softcap is not None, _precision(queries.dtype), num_warps=8,
        )  # fmt: skip
        _gather[grid](
            values, top, lse, output, dropped, missing, phi, rows, length,
            group, dim, TOP, ROWS, (0, *rising), len(rising),
        )  # fmt: skip
    at = [rising.index(budget) for budget in budgets]
    keys_hns = (0x7FFFFFFF - (top & 0x7FFFFFFF)).where(top > -0x7FFFFFFFFFFFFFFF, -1)
    return RowStatistics(
        dropped[..., at], missing[..., at, :], phi[..., at], keys_hns[..., :size], output
    )
