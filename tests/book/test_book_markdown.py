"""Chapters as notebooks: MyST becomes plain Markdown."""

import re

import book_markdown
import docstrings
import nbformat
import notebooks
import pytest
from book_sources import NOTEBOOKS, ROOT, title


@pytest.mark.parametrize("myst, plain", [
    ("```{prf:theorem} Name\n:label: x\n\nA.\n```", "> **Theorem (Name).**\n>\n> A."),
    ("```{prf:proof}\nA.\n```", "> **Proof.**\n>\n> A."),
    (":::{tip}\nA.\n:::", "> **Tip.**\n>\n> A."),
    ("````{note}\n```python\nx\n```\n````", "> **Note.**\n>\n> ```python\n> x\n> ```"),
    ("(a-label)=\n# Title", "# Title"),
    ("$$ x $$ (eq-x)", "$$ x $$"),
    ("$$\nx\n$$ (eq-x)", "$$\nx\n$$"),
    ("See {ref}`the part <x>` and {math}`a_b`.", "See the part and $a_b$."),
    ("See {numref}`fig-x`, {func}`~kvteach.models.load`.", "See the figure, `load`."),
    ("% a comment\ntext", "text"),
    ("```python\n# {ref}`x`\n```", "```python\n# {ref}`x`\n```"),
])
def test_examples(myst, plain):
    assert book_markdown.plain(myst) == plain


def test_own_directives_print_through_a_function():
    assert book_markdown.plain("```{shout} a\n```", {"shout": str.upper}) == "A"


def test_a_directive_without_plain_form_is_named():
    with pytest.raises(ValueError, match="mystery"):
        book_markdown.plain("```{mystery}\n```")


def test_a_block_that_is_never_closed_is_an_error():
    with pytest.raises(ValueError, match="never closed"):
        book_markdown.plain("```{note}\ntext")


@pytest.mark.parametrize("page", NOTEBOOKS, ids=title)
def test_every_chapter_becomes_a_valid_notebook(page):
    expand, shown = notebooks.printed_directives(ROOT), notebooks.citations(ROOT)
    notebook = notebooks.notebook_of(page, ROOT, expand, shown)
    nbformat.validate(notebook)
    compile(notebook.cells[0].source, "install cell", "exec")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            left = re.sub(r"```.*?```|`[^`{}]*`", "", cell.source, flags=re.DOTALL)
            assert not re.search(r"\{[\w:]+\}`|^(:::|```)\{|^\([\w-]+\)=", left, re.MULTILINE), cell.source


@pytest.mark.parametrize("text, rst", [
    ("||x|| of `code`", r"\|\|x\|\| of ``code``"),
    ("the `Row`s", r"the ``Row``\ s"),
    ("a * b and k_j", r"a \* b and k_j"),
    ("Formula:\n\n    a | b", "Formula:\n\n.. code-block:: text\n\n        a | b"),
    ("| a | b |\n|---|---|\n| 1 | `c` |",
     ".. list-table::\n   :header-rows: 1\n\n   * - a\n     - b\n   * - 1\n     - ``c``"),
])
def test_docstrings_are_escaped_for_the_reference(text, rst):
    assert "\n".join(docstrings.to_rst(text.split("\n"))).strip() == rst
