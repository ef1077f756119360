"""A browser window for the tests: opens pages from disk, notes what should not happen."""

from urllib.parse import urlsplit

WIDTHS = {"desktop": 1280, "phone": 390}
MODES = ("light", "dark")


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
