"""Chapters as notebooks: MyST becomes plain Markdown."""

import re

import book_markdown
import book_references
import docstrings
import nbformat
import notebooks
import pytest
from book_sources import BOOK, NOTEBOOKS, ROOT, title


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
    expand, refer = notebooks.printed_directives(ROOT), book_references.references(ROOT)
    notebook = notebooks.notebook_of(page, ROOT, expand, refer)
    nbformat.validate(notebook)
    compile(notebook.cells[0].source, "install cell", "exec")
    for cell in notebook.cells:
        assert cell.cell_type == "markdown" or "../" not in cell.source, "not beside the notebook"
        if cell.cell_type == "markdown":
            left = re.sub(r"```.*?```|`[^`{}]*`", "", cell.source, flags=re.DOTALL)
            assert not re.search(r"\{[\w:]+\}`|^(:::|```)\{|^\([\w-]+\)=", left, re.MULTILINE), cell.source


TEXT = """\
$$ a $$ (eq-a)
```{prf:proof}
```
:::{prf:theorem} Name
:label: thm-a
:::
```{prf:example}
:label: ex-a
```
$$
b
$$ (eq-b)
```{prf:lemma}
:label: lem-a
```
"""


def test_labels_are_numbered_as_sphinx_does():
    """Equations count alone; a lemma counts on from a theorem, an example does not."""
    assert book_references.labels(TEXT, 3) == {
        "eq-a": "Eq. (3.1)", "eq-b": "Eq. (3.2)", "thm-a": "Theorem 3.1",
        "ex-a": "Example 3.1", "lem-a": "Lemma 3.2",
    }


REFER = book_references.References(
    numbers={"eq-a": "Eq. (3.1)", "thm-a": "Theorem 3.1"},
    titles={"01_one": "One", "api": "The library"}, notebooks={"01_one"},
    citations={"w": ("Williams et al.", "2009"), "s": ("Shi and Gu", "2026")},
)


@pytest.mark.parametrize("myst, words", [
    ("{cite:t}`w` gave", "Williams et al. (2009) gave"),
    ("so {cite:p}`w,s`.", "so (Williams et al., 2009; Shi and Gu, 2026)."),
    ("by {eq}`eq-a` and {prf:ref}`thm-a`", "by Eq. (3.1) and Theorem 3.1"),
    ("{doc}`01_one`, {doc}`api`, {doc}`this <01_one>`",
     "[One](01_one.ipynb), The library, [this](01_one.ipynb)"),
    ("[a\nb](01_one.md#x), [`c`](api.md), [d](#e), [f](https://g.org)",
     "[a\nb](01_one.ipynb), `c`, d, [f](https://g.org)"),
    ("$$ x $$ (eq-a)", r"$$ x \tag{3.1} $$"),
    ("$$\nx\n$$ (eq-a)", "$$\nx\n\\tag{3.1} $$"),
    ("```{prf:theorem} Name\n:label: thm-a\n\nA.\n```", "> **Theorem 3.1 (Name).**\n>\n> A."),
])
def test_references_in_words(myst, words):
    assert book_markdown.plain(REFER.resolve(myst)) == words


def test_a_caption_stands_in_italics_after_its_number():
    refer = REFER._replace(numbers={"fig-a": "Figure 3.1", "eq-a": "Eq. (3.1)"})
    figure = {"name": "fig-a", "caption": "Time,\nby {eq}`eq-a`.\n"}
    assert notebooks.caption(figure, refer) == "*Figure 3.1. Time, by Eq. (3.1).*"


def test_numbers_are_those_of_the_built_book(built):
    """Every number that the notebooks print is on the page of its label."""
    for name, chapter in book_references.numbered(BOOK):
        if chapter:
            labels = book_references.labels((BOOK / f"{name}.md").read_text(), chapter)
            html = (built / f"{name}.html").read_text()
            for label, number in labels.items():
                _, here, after = html.partition(
                    f'id="{"equation-" if number.startswith("Eq") else ""}{label}"')
                assert here and number.removeprefix("Eq. ") in after[:20_000].partition("</figure>")[0], label


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
