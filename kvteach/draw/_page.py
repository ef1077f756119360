"""What interactive figures share: controls, readouts and pictures as markup.

A figure is one HTML element with its style, its data and a small script. All that
its script changes is in the markup from the start, so that a page without scripts
(or a print) shows the starting state.
"""

import hashlib
import html
import json
from importlib.resources import files

WIDE, TALL = 340, 190
"""Size of a picture in its own units; it scales with the page."""

LEFT, BELOW, ABOVE = 36, 34, 12


def figure(name, markup, data):
    """Markup, style, data and script as one figure with an id of its own."""
    from IPython.display import HTML

    folder = files("kvteach.draw")
    style = (folder / f"{name}.css").read_text(encoding="utf-8")
    script = (folder / f"{name}.js").read_text(encoding="utf-8")
    packed = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
    identity = "kv-" + hashlib.sha256((name + packed).encode()).hexdigest()[:12]
    return HTML(
        f'<figure class="kv-widget" id="{identity}"><style>{style}</style>{markup}</figure>'
        f"<script>(function (root, data) {{\n{script}\n}})"
        f'(document.getElementById("{identity}"), {packed});</script>'
    )


def dial(name, markup, data, caption):
    """A figure of the kind with sliders: ``name`` is the script's entry in dials.js."""
    text = f"{markup}<figcaption>{caption}</figcaption>"
    return figure("dials", text, {"dial": name, **data})


def controls(*parts):
    return f'<div class="kv-controls">{"".join(parts)}</div>'


def slider(name, label, stops, start):
    """A slider over the texts ``stops``, of which the one at ``start`` shows."""
    return (
        f'<label>{label} <input type="range" data-set="{name}" min="0" '
        f'max="{len(stops) - 1}" value="{start}" aria-valuetext="{stops[start]}">'
        f'<output data-say="{name}">{stops[start]}</output></label>'
    )


def choice(name, label, options):
    """A drop-down list whose first option is chosen."""
    items = "".join(
        f'<option value="{i}">{html.escape(text)}</option>' for i, text in enumerate(options)
    )
    return f'<label>{label} <select data-set="{name}">{items}</select></label>'


def tick(name, label):
    """A box that is not ticked."""
    return f'<label><input type="checkbox" data-set="{name}"> {label}</label>'


def readouts(rows):
    """Values that change: rows of (name, what it is, starting text)."""
    items = "".join(
        f'<dt>{what}</dt><dd><output data-say="{name}">{text}</output></dd>'
        for name, what, text in rows
    )
    return f'<dl aria-live="polite">{items}</dl>'


def bars(names, groups, top):
    """Horizontal bars: for each name one bar for each group of values, up to ``top``.

    groups: (key, values) pairs; a bar carries ``data-bar="key-index"``.
    """
    rows = []
    for i, name in enumerate(names):
        lines = "".join(
            f'<span class="bar {key}"><i data-bar="{key}-{i}" '
            f'style="width:{width_of(values[i], top)}"></i></span>'
            f'<output data-say="{key}-{i}">{values[i]:.2f}</output>'
            for key, values in groups
        )
        rows.append(f'<div><span>{html.escape(name)}</span><div class="pair">{lines}</div></div>')
    return f'<div class="kv-bars">{"".join(rows)}</div>'


def width_of(value, top):
    """A bar's width; nothing is drawn below zero."""
    return f"{100 * min(max(value / top, 0), 1):.1f}%"


def scale(values, low, high, start, size):
    """Numbers between low and high as places on an axis, one decimal."""
    return [round(start + size * (x - low) / (high - low), 1) for x in values]


def across(values, low, high):
    return scale(values, low, high, LEFT, WIDE - LEFT - 10)


def upward(values, low, high):
    return scale(values, low, high, TALL - BELOW, -(TALL - BELOW - ABOVE))


def chart(label, curves, x_ticks, y_ticks, x_name, y_name, extra=""):
    """Lines in a frame; ``curves`` are (key, css class, points) in the picture's units.

    The ticks are (place, text) pairs. ``extra`` is drawn above the lines.
    """
    floor = TALL - BELOW
    marks = [
        f'<path class="axis" d="M{LEFT} {ABOVE}V{floor}H{WIDE - 10}"/>',
        *(f'<text x="{x}" y="{floor + 14}" text-anchor="middle">{text}</text>'
          for x, text in x_ticks),
        *(f'<text x="{LEFT - 4}" y="{y + 4}" text-anchor="end">{text}</text>'
          for y, text in y_ticks),
        f'<text x="{WIDE - 10}" y="{TALL - 4}" text-anchor="end">{x_name}</text>',
        f'<text x="{LEFT + 4}" y="{ABOVE}">{y_name}</text>',
    ]
    lines = (
        f'<polyline data-line="{key}" class="{kind}" '
        f'points="{" ".join(f"{x},{y}" for x, y in points)}"/>'
        for key, kind, points in curves
    )
    return (
        f'<svg viewBox="0 0 {WIDE} {TALL}" role="img" aria-label="{html.escape(label)}">'
        f'{"".join(marks)}{"".join(lines)}{extra}</svg>'
    )


def dot(at, name="now"):
    """A marker that the script moves."""
    return f'<circle data-dot="{name}" class="dot {name}" cx="{at[0]}" cy="{at[1]}" r="5"/>'
