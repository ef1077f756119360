"""The built pages for everybody: axe in a real browser, and figures without scripts."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from browser import Visit, html_pages
from conftest import absent

pytestmark = pytest.mark.browser

GRAVE = ("serious", "critical")


@pytest.fixture(scope="session")
def axe():
    """The checker's script, out of the package that carries it."""
    spec = find_spec("axe_playwright_python")
    if spec is None:
        absent("axe is missing: pip install -r requirements-browser.txt (make test does it)")
    return Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf8")


def violations(page, axe):
    """What axe holds against a page, except for minor things, in a line each."""
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    return [f"{rule['id']}: {node['html'][:120]}" for rule in found
            if rule["impact"] in GRAVE for node in rule["nodes"]]


@pytest.mark.parametrize("width, mode", [(1280, "light"), (390, "dark")])
def test_axe_finds_no_serious_violation(built, chromium, axe, width, mode):
    """Each width and each mode once: no colour of the book depends on the width."""
    with Visit(chromium, width, mode) as visit:
        bad = {path.name: found for path in html_pages(built)
               if (found := violations(visit.open(path), axe))}
    assert not bad


def test_axe_would_have_found_one(chromium, axe, tmp_path):
    """Keeps the test above from passing because nothing was checked."""
    poor = tmp_path / "poor.html"
    poor.write_text('<!doctype html><html lang="en"><title>x</title><main><img src="data:,">'
                    '<p style="color:#999;background:#fff">grey</p></main></html>')
    with Visit(chromium, 1280, "light") as visit:
        found = {line.split(":")[0] for line in violations(visit.open(poor), axe)}
    assert found == {"image-alt", "color-contrast"}


def test_interactive_figures_show_their_start_without_scripts(built, chromium):
    """What the library computed for the markup is what the script computes first."""
    seen = 0
    with Visit(chromium, 1280, "light") as visit:
        plain = chromium.new_context(java_script_enabled=False).new_page()
        for path in html_pages(built):
            if "kv-widget" not in path.read_text(encoding="utf8"):
                continue
            plain.goto(path.as_uri())
            shown = [page.locator("figure.kv-widget [data-say]").all_text_contents()
                     for page in (visit.open(path), plain)]
            assert shown[0] == shown[1] and shown[0], path.name
            seen += 1
        plain.context.close()
    assert seen
