"""Docstrings of kvteach as reStructuredText, which autodoc expects.

The library's docstrings are plain text: paragraphs, indented formulas, `code`
in backquotes, lists with hyphens. Read as reStructuredText, a norm such as
``||x||`` would be a broken substitution. So inline marks are escaped, code
keeps its font, and indented blocks are shown as they stand.
"""

import re

CODE = re.compile(r"``(.+?)``|`([^`]+)`", re.DOTALL)
MARKS = re.compile(r"([\\*|]|_(?!\w))")


def to_rst(lines):
    """The lines of a docstring, ready to be parsed as reStructuredText."""
    result = []
    for paragraph in paragraphs(lines):
        result += [*block(paragraph), ""]
    return result


def paragraphs(lines):
    """Split at blank lines; indented paragraphs that follow one another stay one."""
    found = []
    for chunk in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        rows = chunk.split("\n")
        if found and is_verbatim(rows) and is_verbatim(found[-1]):
            found[-1] += ["", *rows]
        elif rows != [""]:
            found.append(rows)
    return found


def is_verbatim(rows):
    """Whether a paragraph is to be shown as it stands, for being indented."""
    return all(row.startswith(" ") for row in rows if row.strip())


def block(rows):
    """One paragraph as reStructuredText."""
    if len(rows) > 2 and rows[1].startswith("|--"):
        return table(rows)
    if is_verbatim(rows):
        return [".. code-block:: text", "", *(f"    {row}" for row in rows)]
    if rows[0].lstrip().startswith((":", ".. ")):
        return rows
    return inline("\n".join(rows)).split("\n")


def table(rows):
    """A table of the Markdown kind, whose second line is the rule."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [rows[0], *rows[2:]]:
        for mark, cell in zip("*" + " " * len(row), row.strip("|").split("|")):
            lines.append(f"   {mark} - {inline(cell.strip())}")
    return lines


def inline(text):
    """Escape inline marks outside code, and write all code with two backquotes."""
    pieces, end = [], 0
    for match in CODE.finditer(text):
        pieces.append(MARKS.sub(r"\\\1", text[end:match.start()]))
        pieces.append(f"``{match.group(1) or match.group(2)}``")
        end = match.end()
        if text[end:end + 1].isalnum():
            pieces.append("\\ ")     # reStructuredText ends code at a word's end only
    pieces.append(MARKS.sub(r"\\\1", text[end:]))
    return "".join(pieces)


def skip(app, what, name, obj, skipped, options):
    """Hook of autodoc: leave out the fields of named tuples, which say nothing."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field") else None


def process(app, what, name, obj, options, lines):
    """Hook of autodoc: rewrite the docstring in place."""
    lines[:] = to_rst(lines)
