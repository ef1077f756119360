"""One look for all figures: colour-blind safe, few lines, labels on the data."""

KEPT = "#0072B2"
EVICTED = "#D55E00"
THIRD = "#009E73"
MUTED = "#8A8F98"
"""Four colours of Okabe and Ito's palette (and a grey), distinct to colour-blind eyes."""

SETTINGS = {
    "svg.hashsalt": "kvteach",  # the same figure gives the same bytes
    "figure.figsize": (7.2, 3.6),
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E4E6EA",
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
}


def cycle():
    """The colours of successive lines, as matplotlib wants them."""
    from matplotlib import cycler

    return cycler(color=[KEPT, EVICTED, THIRD, "#CC79A7", "#56B4E9"])


def use():
    """Set the house style for this notebook: call it once at the top of a chapter."""
    import matplotlib
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    set_matplotlib_formats("svg")
    matplotlib.rcParams.update(SETTINGS | {"axes.prop_cycle": cycle()})
