"""The static markup of interactive figures; the browser tests drive their scripts."""

import json
import re

import pytest
import torch

from kvteach.draw import widgets
from kvteach.rows import error


@pytest.fixture
def row(generator):
    p = (2 * torch.randn(30, generator=generator)).softmax(0)
    return p, torch.randn(30, 6, generator=generator)


def data_of(figure):
    return json.loads(re.search(r'getElementById\("[^"]+"\), (\{.*\})\);', figure.data)[1])


def test_the_data_give_the_error_of_any_kept_set(row, generator):
    """What the script computes from p and gram is the forced error of the whole row."""
    p, v = row
    data = data_of(widgets.subset_explorer(p, v, ["x"] * 30))
    heaviest = p.argsort(descending=True)[:12]
    gram = torch.tensor(data["gram"], dtype=torch.float64)
    for _ in range(20):
        chosen = torch.rand(12, generator=generator) < 0.4
        chosen[0] = True
        mass = torch.tensor(data["p"], dtype=torch.float64)[chosen].sum()
        ours = gram[chosen][:, chosen].sum().clamp_min(0).sqrt() / mass
        kept = error.mask_of(heaviest[chosen], 30)
        assert ours.item() == pytest.approx(error.forced_error(p, v, kept).item(), rel=1e-6)


def test_labels_cannot_break_the_page(row):
    figure = widgets.subset_explorer(*row, ["</script><b>&\n"] * 30)
    assert "</script><b>" not in figure.data
    assert figure.data.count("</script>") == 1


def test_it_needs_no_network_and_no_mouse(row):
    page = widgets.subset_explorer(*row, ["x"] * 30).data
    assert "http" not in page.replace("http://www.w3.org", "")
    assert page.count("<button") == 12 + 2 and page.count("aria-pressed") >= 12
    assert "aria-label" in page and "aria-live" in page


def test_two_rows_on_a_page_do_not_share_an_id(row):
    p, v = row
    ids = {
        re.search(r'id="([^"]+)"', widgets.subset_explorer(p, w, ["x"] * 30).data)[1]
        for w in (v, v + torch.arange(30.0)[:, None])
    }
    assert len(ids) == 2


def test_one_component_and_few_keys(generator):
    p = torch.rand(5, generator=generator)
    figure = widgets.subset_explorer(p / p.sum(), torch.rand(5, 1), ["x"] * 5, shown=5)
    assert len(data_of(figure)["plane"]) == 5
    for labels, shown, words in [(5, 6, "shown"), (4, 5, "labels: need 5 strings")]:
        with pytest.raises(ValueError, match=words):
            widgets.subset_explorer(p / p.sum(), torch.rand(5, 1), ["x"] * labels, shown=shown)
