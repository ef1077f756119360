"""MyST Markdown as the plain Markdown that every notebook viewer shows.

Chapters are written in MyST: theorems, margin notes, cross-references. Jupyter
and hosted notebooks print those as raw text, so `plain` rewrites them: a theorem
becomes a quoted block with a bold title, labels go, roles become text. What needs
the numbers and titles of the whole book is done before, in book_references.py.
"""

import re

FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,})\{(?P<name>[\w:+-]+)\}\s*(?P<argument>.*)$")
ROLE = re.compile(r"\{(?P<name>[\w:+-]+)\}`(?P<content>[^`]+)`")

STATEMENTS = {"axiom", "conjecture", "corollary", "definition", "example", "lemma",
              "observation", "property", "proposition", "remark", "theorem", "algorithm"}
ASIDES = {"admonition", "attention", "caution", "danger", "dropdown", "error",
          "exercise", "hint", "important", "margin", "note", "seealso", "sidebar",
          "solution", "tip", "topic", "warning"}
UNTITLED = {"admonition", "dropdown", "margin", "sidebar", "topic"}
DROPPED = {"bibliography", "contents", "eval-rst", "raw", "tableofcontents"}
REFERENCES = {"numref": "the figure", "eq": "the equation", "prf:ref": "the statement",
              "ref": "the section", "doc": "the chapter"}


def plain(text, expand=None):
    """The text with every directive and role in plain Markdown.

    ``expand`` maps the name of a directive to a function of its argument that
    returns Markdown, for directives that print data of the project. Raises
    ValueError for a directive that has no plain form.
    """
    return "\n".join(blocks(text.split("\n"), expand or {})).strip("\n")


def blocks(lines, expand):
    """Rewrite a list of lines; directives may hold directives."""
    result, at = [], 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if opening:
            end = closing(lines, at + 1, opening["fence"])
            result += directive(opening, lines[at + 1:end], expand)
            at = end + 1
        elif lines[at].startswith("```"):
            end = closing(lines, at + 1, re.match("`+", lines[at])[0])
            result += lines[at:end + 1]
            at = end + 1
        else:
            result += line(lines[at])
            at += 1
    return result


def closing(lines, start, fence):
    """Index of the line that closes a fence, which no longer fence may do."""
    for index in range(start, len(lines)):
        mark = lines[index].strip()
        if set(mark) == {fence[0]} and len(mark) >= len(fence):
            return index
    raise ValueError(f"a block opened with {fence!r} is never closed")


def directive(opening, body, expand):
    """Plain Markdown for one directive."""
    name, argument = opening["name"].removeprefix("prf:"), opening["argument"].strip()
    options, body = split_options(body)
    if name in DROPPED:
        return []
    if name in expand:
        return expand[name](argument).split("\n")
    if name == "math":
        return ["$$", *body, "$$"]
    if name in ("image", "figure"):
        return [f"![{options.get('alt', '')}]({argument})", "", *blocks(body, expand)]
    if name in ("solution-start", "exercise-start"):
        return [f"**{name.partition('-')[0].capitalize()}.** {text_of_roles(argument)}"]
    if name in ("solution-end", "exercise-end"):
        return []
    if name == "table":
        return [f"**{text_of_roles(argument)}**", "", *blocks(body, expand)]
    if name == "proof":
        return quote("Proof", blocks(body, expand))
    if name in STATEMENTS:
        title = options.get("number", name.capitalize()) + (f" ({text_of_roles(argument)})" if argument else "")
        return quote(title, blocks(body, expand))
    if name in ASIDES:
        title = argument or ("" if name in UNTITLED else name.capitalize())
        return quote(text_of_roles(title), blocks(body, expand))
    raise ValueError(f"the directive {name!r} has no plain form for notebooks")


def split_options(body):
    """Options of a directive (`:key: value` lines) and the lines after them."""
    options, at = {}, 0
    while at < len(body) and (found := re.match(r":([\w-]+):\s*(.*)$", body[at])):
        options[found[1]] = found[2]
        at += 1
    return options, body[at:]


def quote(title, lines):
    """A quoted block with a bold title."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    heading = [f"**{title}.**", ""] if title else []
    return ["", *(f"> {row}".rstrip() for row in heading + lines), ""]


def line(text):
    """One line outside any block; labels and comments vanish."""
    if re.match(r"^\([\w:.-]+\)=\s*$|^%|^\{[.#][^}]*\}\s*$", text):
        return []
    text = re.sub(r"^(.*\$\$)\s*\([\w:.-]+\)\s*$", r"\1", text)
    text = re.sub(r"^\[\^([\w-]+)\]:\s*", r"<sup>\1</sup> ", text)
    text = re.sub(r"\[\^([\w-]+)\]", r"<sup>\1</sup>", text)
    return [text_of_roles(text)]


def text_of_roles(text):
    """Replace each role in a line by what it says."""
    return ROLE.sub(lambda found: role(found["name"], found["content"]), text)


def role(name, content):
    """What one role says, without the link."""
    titled = re.match(r"^(.*?)\s*<[^>]+>$", content, re.DOTALL)
    if name == "math":
        return f"${content}$"
    if name == "kbd":
        return f"<kbd>{content}</kbd>"
    if titled and "%s" not in titled[1] and "{number}" not in titled[1]:
        return titled[1]
    if name in REFERENCES:
        return REFERENCES[name]
    if name.startswith("py:") or name in ("func", "class", "meth", "mod", "attr", "data"):
        return f"`{content.rpartition('.')[2] if content.startswith('~') else content}`"
    if name.startswith("glue"):
        return "(computed below)"
    return content
