"""Interactive figures that work in a static page: markup, data and a small script.

Each function returns an IPython ``HTML`` object. The script recomputes in the
page, so the figure works without a kernel, without a network and by keyboard;
before it runs, the markup already shows the starting state.
"""

import html

import torch

from kvteach.draw import _page as page
from kvteach.rows import error
from kvteach.rows.error import as_row, dense_output, deviations, mask_of
from kvteach.rows.exact import best_subset


def subset_explorer(p, v, labels, shown=12, size=4):
    """Toggle which of a row's heaviest keys stay; error, mass and gap follow.

    p: [S]; v: [S, D]; labels: S strings. The ``shown`` heaviest keys can be
    kept, all others are dropped; it starts with the ``size`` heaviest. Shows
    the values in the plane where their deviations are largest. Raises
    ValueError for a batch, for labels that do not fit, and when there are fewer
    keys than ``shown``.
    """
    p, v = as_row(p, v)
    if p.ndim != 1 or v.ndim != 2:
        raise ValueError(f"p: shape {tuple(p.shape)}; the explorer takes one row, [S]")
    if len(labels) != len(p) or not all(isinstance(label, str) for label in labels):
        raise ValueError(f"labels: need {len(p)} strings, one for each key")
    if not 1 <= size <= shown <= min(p.shape[-1], 16):
        raise ValueError(
            f"size, shown: {size}, {shown}; need 1 <= size <= shown <= "
            f"{min(p.shape[-1], 16)}"
        )
    chosen = p.argsort(descending=True, stable=True)[:shown]
    gamma_nd = deviations(p, v)[chosen]
    plane = _plane(v[chosen] - dense_output(p, v), gamma_nd)
    start = mask_of(torch.arange(size), shown)
    data = {
        "p": p[chosen].tolist(),
        "gram": (gamma_nd @ gamma_nd.T).tolist(),
        "plane": plane.tolist(),
        "start": start.tolist(),
    }
    names = [(labels[i], i) for i in chosen.tolist()]
    markup = _explorer_markup(data, names, _starting_state(p, v, chosen, size))
    return page.figure("subset_explorer", markup, data)


def _starting_state(p, v, pool, size):
    """What the script will show first: rows of (name, what it is, text)."""
    mass, gap, off = error.factorization(p, v, mask_of(pool[:size], len(p)))
    least = best_subset(p, v, size, pool=pool).error
    return [
        ("size", "keys kept", size),
        ("mass", "dropped mass", f"{mass.item():.3f}"),
        ("gap", "centroid gap ‖m<sub>E</sub> − m<sub>A</sub>‖", f"{gap.item():.3f}"),
        ("error", "error of your set", f"{off.item():.4f}"),
        ("heaviest", "error of the heaviest keys, as many", f"{off.item():.4f}"),
        ("best", "least error, as many of these keys", f"{float(least):.4f}"),
    ]


def _plane(offsets, gamma_nd):
    """Values around mu, [n, 2], in the plane of largest deviations, fitting 200 x 200."""
    _, _, axes = torch.linalg.svd(gamma_nd, full_matrices=False)
    flat = offsets @ axes[:2].T
    if flat.shape[1] == 1:  # values with a single component lie on a line
        flat = torch.cat([flat, torch.zeros_like(flat)], 1)
    lowest, highest = flat.amin(0).clamp_max(0), flat.amax(0).clamp_min(0)
    return flat * (200 / (highest - lowest).max().clamp_min(1e-12))


def _view_box(plane, margin=32):
    """SVG view box around the points and the origin, with room for the circles."""
    xs, ys = ([0.0, *(point[axis] for point in plane)] for axis in (0, 1))
    corner = (min(xs) - margin, min(ys) - margin)
    size = (max(xs) - min(xs) + 2 * margin, max(ys) - min(ys) + 2 * margin)
    return " ".join(f"{number:.0f}" for number in (*corner, *size))


def _explorer_markup(data, names, state):
    heaviest = max(data["p"])
    keys, circles = [], []
    rows = zip(names, data["p"], data["plane"], data["start"], strict=True)
    for index, ((name, position), weight, (x, y), kept) in enumerate(rows):
        token = html.escape(name.strip() or name.replace("\n", "⏎"))
        keys.append(
            f'<button type="button" data-key="{index}" aria-pressed="{str(kept).lower()}" '
            f'aria-label="key {token} at {position}, weight {weight:.3f}">'
            f'<span class="token">{token}</span><span class="at">{position}</span>'
            f'<span class="bar" style="width:{100 * weight / heaviest:.1f}%"></span>'
            f"<span>{weight:.3f}</span></button>"
        )
        radius = 3 + 15 * (weight / heaviest) ** 0.5
        circles.append(
            f'<circle data-key="{index}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
        )
    return (
        '<div class="kv-controls">'
        '<button type="button" data-do="heaviest">keep the heaviest</button>'
        '<button type="button" data-do="best">keep the best</button></div>'
        f'<div class="kv-explorer"><div class="keys" role="group" '
        f'aria-label="keys of the row">{"".join(keys)}</div>'
        f'<div><svg viewBox="{_view_box(data["plane"])}" role="img" aria-label="Values of the '
        "keys around the dense output, and the forced output of the kept keys, in the "
        f'plane of largest deviations">{"".join(circles)}'
        '<path class="cross" d="M-7 0H7M0 -7V7"/><text x="9" y="-9">μ</text>'
        '<line class="error" x1="0" y1="0" x2="0" y2="0"/>'
        '<circle class="forced" r="5"/></svg>'
        f"{page.readouts(state)}</div></div>"
        "<figcaption>Bars and circles: weight of a key; filled: kept. Cross: dense "
        "output μ. Orange: forced output of the kept keys; the line is the error."
        "</figcaption>"
    )
