"""The built pages in a real browser: offline, typeset, usable by keyboard.

Skipped only where no Chromium is installed. Pages are opened from disk, as a
reader does who copied the book, and every request that would leave the machine
is stopped and recorded.
"""

import shutil
from urllib.parse import urlsplit

import pytest
from conftest import absent

pytestmark = pytest.mark.browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = {"desktop": 1280, "phone": 390}
MODES = ("light", "dark")


@pytest.fixture(scope="module")
def chromium():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        absent("no Chromium is installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail("a Chromium is here, but not its driver: "
                    "pip install -r requirements-browser.txt (make test does it)")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


class Visit:
    """A browser window that notes what a reader should never meet."""

    def __init__(self, chromium, width, mode):
        self.context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=mode
        )
        self.context.route(lambda url: not is_local(url), self._stop)
        self.page = self.context.new_page()
        self.trouble = []
        self.page.on("console", lambda m: m.type == "error" and self._note("console", m.text))
        self.page.on("pageerror", lambda error: self._note("script", error))
        self.page.on("requestfailed", lambda request: self._note("failed", request.url))

    def _note(self, kind, what):
        self.trouble.append((kind, str(what), self.page.url))

    def _stop(self, route):
        self._note("left the machine", route.request.url)
        route.abort()

    def open(self, path, query=""):
        self.page.goto(path.as_uri() + query)
        self.page.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise")
        return self.page

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


def is_local(url):
    return urlsplit(url).scheme in ("file", "data", "blob", "about")


def html_pages(built):
    return sorted(path for path in built.glob("*.html") if path.stem not in ("genindex", "py-modindex"))


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
