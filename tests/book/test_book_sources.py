"""The sources of the book keep its rules."""

import json
import pkgutil
import re
from pathlib import Path

import book_chapters
import jupyter_book
import jupytext
import pytest
import yaml
from book_sources import BOOK, NOTEBOOKS, PAGES, ROOT, title

CODE_WIDTH = 76
"""Characters that fit beside the margin at 1280 pixels without scrolling."""


def test_contents_name_every_page_and_nothing_else():
    named = set(book_chapters.pages(BOOK))
    assert named == set(BOOK.glob("*.md"))


def test_configuration_keys_are_known():
    """Jupyter Book ignores a key that it does not know, so a typing error is silent."""
    package = Path(jupyter_book.__file__).parent
    schema = json.loads((package / "config_schema.json").read_text())["properties"]
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    defaults = yaml.safe_load((package / "default_config.yml").read_text())
    assert set(config) <= set(schema) | set(defaults)
    for section, values in config.items():
        if known := schema.get(section, {}).get("properties"):
            assert set(values) <= set(known), section


def test_no_script_of_another_host_is_configured():
    config = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]
    assert "sphinx_thebe" not in config["extensions"]
    assert config["nb_ipywidgets_js"] == {}
    assert not re.search(r"https?:", json.dumps(config))


@pytest.mark.parametrize("page", NOTEBOOKS, ids=title)
def test_code_fits_the_page(page):
    for cell in jupytext.read(page).cells:
        if cell.cell_type == "code":
            for line in cell.source.splitlines():
                assert len(line) <= CODE_WIDTH, line


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_headings_are_in_order(page):
    """One title; no level is skipped on the way down."""
    levels = [len(mark) for mark in re.findall(r"^(#+) ", without_code(page), re.MULTILINE)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(below <= above + 1 for above, below in zip(levels, levels[1:]))


@pytest.mark.parametrize("page", NOTEBOOKS, ids=title)
def test_named_figures_have_alternative_text(page):
    for cell in jupytext.read(page).cells:
        options = cell.metadata.get("mystnb", {})
        if "figure" in options:
            assert options.get("image", {}).get("alt", "").strip(), cell.source


def test_numbered_chapters_end_with_their_exercises():
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text())
    for part in toc["parts"]:
        for chapter in part["chapters"] if part.get("numbered") else []:
            text = (BOOK / f"{chapter['file']}.md").read_text()
            assert f"```{{exercises}} ch{chapter['file'][:2]}" in text, chapter


def test_chapters_begin_with_a_prediction_and_end_with_what_to_remember():
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text())
    for part in toc["parts"]:
        for chapter in part["chapters"] if part.get("numbered") else []:
            text = without_code(BOOK / f"{chapter['file']}.md")
            sections = re.split(r"^## ", text, flags=re.MULTILINE)
            assert sections[1].startswith("A prediction"), chapter
            assert sections[-1].startswith("What to remember"), chapter
            assert 3 <= len(re.findall(r"^- ", sections[-1], re.MULTILINE)) <= 7, chapter


def test_every_reference_is_cited():
    """The other direction, a citation without an entry, fails the build."""
    entries = re.findall(r"^@\w+\{([^,]+),", (BOOK / "references.bib").read_text(), re.MULTILINE)
    texts = "".join(page.read_text() for page in PAGES)
    cited = re.findall(r"\{cite:\w+\}`([^`]+)`", texts)
    cited = {key.strip() for keys in cited for key in keys.split(",")}
    assert len(entries) == len(set(entries)) and set(entries) <= cited


def test_every_part_has_a_figure_to_play_with():
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text())
    for part in toc["parts"]:
        texts = [(BOOK / f"{chapter['file']}.md").read_text() for chapter in part["chapters"]]
        if part.get("numbered"):
            assert re.search(r"^(widgets|dials|choices)\.\w+\(", "".join(texts), re.MULTILINE), part


APART = ("kvteach.grading.", "kvteach.evaluate.atlas.", "kvteach.evaluate.compare.",
         "kvteach.cli")


def test_every_public_module_is_in_the_reference():
    """All of the library that a chapter may call: not the grader, the map, the command."""
    import kvteach

    modules = {
        module.name for module in pkgutil.walk_packages(kvteach.__path__, "kvteach.")
        if not module.ispkg and not any(part.startswith("_") for part in module.name.split("."))
    }
    outside = {name for name in modules if name.startswith(APART)}
    shown = set(re.findall(r"automodule:: (\S+)", (BOOK / "api.md").read_text()))
    assert shown == modules - outside


def without_code(page):
    return re.sub(r"^(`{3,})[^`]*?^\1$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
