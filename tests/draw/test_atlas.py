"""The figures of a map, drawn from the recorded summary."""

import json
from pathlib import Path

import numpy as np
import pytest

from kvteach.draw import atlas

RECORD = Path(__file__).parents[2] / "benchmarks" / "results" / "map_smollm2" / "summary.json"


@pytest.fixture(scope="module")
def summary():
    return json.loads(RECORD.read_text())


def test_every_figure_is_written_twice_alike(summary, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = atlas.save_all(summary, tmp_path / "a")
    second = atlas.save_all(summary, tmp_path / "b")
    assert [path.name for path in first] == [f"figure_{n}.svg" for n in (1, 2, 3, 4)]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes() and b"<svg" in one.read_bytes()


def test_what_was_not_measured_is_not_drawn(summary, tmp_path):
    less = {k: v for k, v in summary.items() if k not in ("figure_3", "figure_4")}
    less["figure_2"] = {"4": summary["figure_2"]["4"]}
    assert [p.name for p in atlas.save_all(less, tmp_path)] == ["figure_1.svg"]


def test_bars_of_the_ceiling_add_up_to_the_heaviest_keys(summary):
    ax = atlas.ceiling(summary).axes[0]
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(2, -1)
    np.testing.assert_allclose(heights.sum(0), 1)
    closed = [summary["table_8"][str(s)]["closure"][0] for s in (4, 8, 16, 32)]
    np.testing.assert_allclose(heights[1], closed)


def test_the_map_shows_a_pixel_for_each_cell(summary):
    plan = summary["plan"]
    for ax in atlas.cells(summary).axes[:2]:
        assert ax.images[0].get_array().shape == (plan["heads"], plan["layers"])
