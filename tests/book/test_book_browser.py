"""The built pages in a real browser: offline, typeset, usable by keyboard.

Skipped only where no Chromium is installed. Pages are opened from disk, as a
reader does who copied the book, and every request that would leave the machine
is stopped and recorded.
"""

import pytest
from browser import MODES, WIDTHS, Visit, html_pages

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_every_page_is_sound(built, chromium, width, mode):
    with Visit(chromium, width, mode) as visit:
        for path in html_pages(built):
            page = visit.open(path)
            assert page.locator("html").get_attribute("data-theme") == mode, path.name
            formulas = page.locator(".math").count()
            typeset = page.locator(".math mjx-container").count()
            assert typeset >= formulas, (path.name, formulas, typeset)
            assert page.locator("mjx-merror").count() == 0, path.name
            used, shown = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert used <= shown, f"{path.name} scrolls sideways: {used} > {shown}"
        assert not visit.trouble


def test_some_page_has_formulas(built, chromium):
    """Keeps the test above from passing on a book without any."""
    with Visit(chromium, 1280, "light") as visit:
        assert visit.open(built / "notation.html").locator(".math mjx-container").count() > 10


def widgets_of(page):
    return page.locator("figure.kv-widget, div.kv-widget")


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_interactive_figures_answer_the_keyboard(built, chromium, width):
    """A slider moves with an arrow key, a button with the space bar, and the rest follows.

    The value of a slider is no part of the markup, so a change of the markup
    means that the figure itself changed.
    """
    found = 0
    with Visit(chromium, width, "light") as visit:
        for path in html_pages(built):
            page = visit.open(path)
            for number in range(widgets_of(page).count()):
                widget = widgets_of(page).nth(number)
                found += 1
                controls = widget.locator("input[type=range], input[type=checkbox], select, button")
                assert any(answers(page, widget, controls.nth(i)) for i in range(controls.count())), (
                    path.name, number)
                for i in range(widget.locator("input[type=range]").count()):
                    slider = widget.locator("input[type=range]").nth(i)
                    assert answers(page, widget, slider), (path.name, number, i)
        assert not visit.trouble
    assert found, "the book has no interactive figure"


def answers(page, widget, control):
    """Whether a key press on a focused control changes its figure; focus must show."""
    control.focus()
    kind = control.evaluate("e => e.type")
    before = widget.evaluate("e => e.outerHTML")
    keys = {"range": ("ArrowRight", "ArrowLeft"), "select-one": ("ArrowDown", "ArrowUp")}
    for key in keys.get(kind, ("Space",)):
        page.keyboard.press(key)
        assert control.evaluate("e => getComputedStyle(e).outlineStyle") != "none"
        if widget.evaluate("e => e.outerHTML") != before:
            return True
    return False


def test_search_finds_a_word(built, chromium):
    with Visit(chromium, 1280, "light") as visit:
        page = visit.open(built / "index.html")
        page.keyboard.press("Control+k")
        page.keyboard.type("renormalised")
        page.keyboard.press("Enter")
        page.wait_for_selector("#search-results li a")
        assert "notation.html" in " ".join(
            link.get_attribute("href") for link in page.locator("#search-results li a").all()
        )
        assert not visit.trouble
