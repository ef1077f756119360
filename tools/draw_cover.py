"""Draw the picture of the cover, book/assets/cover.png (`make cover`).

    python tools/draw_cover.py [--out FILE]

What four methods keep of one document: the bundled model's 90 key-value heads down,
640 positions across, a fifth of all keys. Every mark is a key that is really held.
"""

import argparse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
METHODS = {"streaming": "StreamingLLM: the first and the last",
           "snapkv": "SnapKV: what the last rows look at",
           "contourkv": "ContourKV: one threshold for all heads",
           "kvzip": "KVzip: what it takes to repeat the text"}
TOKENS, SHARE = 640, 0.2
PAPER, KEPT, INK = "#fdfcf9", "#14667a", "#21262b"


def kept_keys(method):
    """Which keys the method holds, [layers * heads, TOKENS] bool."""
    import numpy as np

    from kvteach import corpora, engine, models

    loaded = models.load()
    text = corpora.documents("english")[132].tokens(loaded.tokenizer, TOKENS)
    session = engine.compress(loaded.model, text, method, SHARE)
    heads = loaded.model.config.num_key_value_heads
    kept = np.zeros((len(session.cache.layers) * heads, TOKENS), bool)
    for i, layer in enumerate(session.cache.layers):
        for head in range(heads):
            kept[heads * i + head, layer.prefix.positions(0, head).numpy()] = True
    return kept


def draw(out):
    """Four panels of marks into one file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    figure, axes = plt.subplots(2, 2, figsize=(9.6, 4.9), dpi=150, facecolor=PAPER,
                                layout="constrained")
    for ax, (method, name) in zip(axes.flat, METHODS.items()):
        kept = kept_keys(method)
        ax.imshow(kept, aspect="auto", cmap=ListedColormap([PAPER, KEPT]),
                  interpolation="none")
        ax.set_title(name, loc="left", fontsize=10.5, color=INK, fontweight="bold")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#dcd8ce")
        print(f"{method}: {kept.mean():.3f} of all keys", flush=True)
    axes[1, 0].set_xlabel("position in the document →", loc="left", fontsize=9, color=INK)
    axes[0, 0].set_ylabel("heads, layer by layer", fontsize=9, color=INK)
    figure.savefig(out, metadata={"Software": None})
    print(f"{out}: {out.stat().st_size / 1e3:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description="Draw the picture of the cover.")
    parser.add_argument("--out", type=Path, default=ROOT / "book" / "assets" / "cover.png")
    draw(parser.parse_args().out)


if __name__ == "__main__":
    main()
