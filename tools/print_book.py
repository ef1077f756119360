"""Print the whole book into one PDF (`make pdf` calls this).

    python tools/print_book.py [--out FILE]

The book must be up to date: its chapters are taken as they ran. Jupyter Book renders
all pages as one, which a headless Chromium prints, with bookmarks. Interactive figures
stand in their starting state; what is folded is open, but for very long tables.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import build_book

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

OPEN = """() => {
  document.documentElement.dataset.theme = "light";
  for (const box of document.querySelectorAll("details"))
    box.open = box.querySelectorAll("tr").length < 100;
  for (const box of document.querySelectorAll(".toggle-hidden"))
    box.classList.remove("toggle-hidden");
  const contents = document.querySelector("#jb-print-toc h2");
  if (contents) contents.textContent = "Contents";
  return document.fonts.ready.then(() => window.MathJax && MathJax.startup.promise);
}"""
"""Shows what is folded, in light colours, names the contents, and waits for the formulas."""

FOOTER = ('<div style="width:100%;font:8px sans-serif;color:#58636d;text-align:center">'
          '<span class="pageNumber"></span></div>')


def single_page(root):
    """All pages of the book as one HTML page; its path."""
    build = root / "_build"
    program = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", program, "build", "book", "--builder", "singlehtml",
               "-W", "-n", "--keep-going", "-q"]
    with build_book.alone(build / "build.lock", "Another build"):
        shutil.rmtree(build / "singlehtml", ignore_errors=True)
        done = subprocess.run(command, cwd=root, env=build_book.environment(root), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise build_book.BuildError(build_book.plain(done.stdout))
    return build / "singlehtml" / "index.html"


def print_page(page, out, browser):
    """Print one HTML page to a PDF on A4 paper, with bookmarks and page numbers."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        window = running.new_page(viewport={"width": 1000, "height": 1400}, color_scheme="light")
        window.set_default_timeout(600_000)
        window.goto(page.as_uri())
        window.evaluate(OPEN)
        window.emulate_media(media="print")
        window.pdf(path=out, format="A4", outline=True, tagged=True, print_background=True, scale=0.8,
                   display_header_footer=True, header_template="<span></span>",
                   footer_template=FOOTER,
                   margin={"top": "18mm", "bottom": "18mm", "left": "18mm", "right": "18mm"})
        running.close()


def main():
    parser = argparse.ArgumentParser(description="Print the book into one PDF.")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "kvteach.pdf")
    out = parser.parse_args().out
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("The PDF is printed by Chromium, which is not installed (Debian: apt-get "
                 "install chromium)")
    began = time.monotonic()
    try:
        print("Joining all pages ...", flush=True)
        page = single_page(ROOT)
    except build_book.BuildError as error:
        sys.exit(f"{error}\nThe book was not printed.")
    print("Printing ...", flush=True)
    print_page(page, out, browser)
    print(f"{time.monotonic() - began:.0f} s. Open {out}")


if __name__ == "__main__":
    main()
