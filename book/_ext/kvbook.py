"""What this book adds to Jupyter Book.

- MathJax is copied into the built book, so that no page asks another host.
- ``{notation} ROW`` prints a table of symbols out of kvteach.notation.
- ``{exercises} ch02`` lists a chapter's exercises out of the grader's manifest.
- ``{course} all`` lists the chapters with what their exercises ask for.
- ``{source} kvteach.rows.branch.branch_and_bound`` shows a function of the library.
- Docstrings, which are plain text, are rewritten for autodoc.
- Pages are mended for readers who listen to them.
- The one-page build (from which the book is printed) knows how to render the
  nodes of sphinx-exercise.
"""

import ast
import importlib
import inspect
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import docstrings

MATHJAX_WHEEL = "sphinx-mathjax-offline"
MATHJAX_PARTS = ("tex-mml-chtml.js", "output/chtml/fonts/woff-v2")
SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"

EMPTY_HEADER = re.compile(r"<th((?: [a-z]+=\"[^\"]*\")*)>(?:<p></p>)?</th>")

FORMULA = re.compile(
    r"p_j \(v_j - mu\)|v_j|\[[A-Z](?:, [A-Z])*\]|H / K|(?<=of )A\b|(?<=key )j\b"
)
"""What is a formula in the meanings of kvteach.notation, which are plain text."""


class MarkdownDirective(SphinxDirective):
    """A directive that writes Markdown, which is then parsed in place."""

    required_arguments = 1

    def markdown(self):
        raise NotImplementedError

    def run(self):
        box = nodes.container(classes=[f"kv-{self.name}"])
        lines = self.markdown().splitlines()
        self.state.nested_parse(StringList(lines, self.name), 0, box)
        return [box]


class Notation(MarkdownDirective):
    """The symbols of one group of kvteach.notation, such as DIMENSIONS."""

    def markdown(self):
        from kvteach import notation

        symbols = getattr(notation, self.arguments[0], None)
        if symbols is None:
            raise self.error(f"kvteach.notation has no group {self.arguments[0]!r}")
        return typeset_meanings(notation.markdown_table(symbols))


def typeset_meanings(table):
    """A table of symbols with the formulas in its last column as TeX."""
    rows = [row.rstrip(" |").rpartition("| ") for row in table.splitlines()]
    tex = [FORMULA.sub(lambda found: f"${found[0]}$".replace("mu", r"\mu"), row[2])
           for row in rows]
    return "\n".join(f"{row[0]}{row[1]}{cell} |" for row, cell in zip(rows, tex))


class Exercises(MarkdownDirective):
    """The exercises of one chapter, with the command that grades each."""

    def markdown(self):
        try:
            return exercise_list(self.arguments[0])
        except FileNotFoundError as error:
            raise self.error(f"{error.filename} is missing; run `make exercises`") from None
        except LookupError as error:
            raise self.error(str(error)) from None


class Course(MarkdownDirective):
    """All numbered chapters, with what their exercises ask for."""

    def markdown(self):
        return course_table(Path(self.env.srcdir))


class Source(MarkdownDirective):
    """The source of one function of the library, as it is tested."""

    def markdown(self):
        try:
            return source_of(self.arguments[0])
        except (ImportError, AttributeError, TypeError) as error:
            raise self.error(f"no source of {self.arguments[0]!r}: {error}") from None


def source_of(dotted):
    """Markdown that shows the function with this full name."""
    module, _, name = dotted.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    return f"```python\n{inspect.getsource(function)}```"


def exercise_list(chapter):
    """Markdown for a chapter's exercises; LookupError when there are none."""
    from kvteach.grading.course import read_manifest

    exercises = [e for e in read_manifest() if e.chapter == chapter]
    if not exercises:
        raise LookupError(f"the exercise manifest of kvteach.grading has no {chapter!r}")
    lines = []
    for exercise in sorted(exercises, key=lambda e: e.number):
        lines += [
            f"1. **{exercise.title}**\\",
            f"   {task(exercise)}\\",
            f"   difficulty {exercise.difficulty} of 3 · {exercise.minutes} minutes · "
            f"{exercise.points} points\\",
            f"   `exercises/{exercise.folder}/{exercise.name}.py`\\",
            f"   `kvteach grade {exercise.id}`",
        ]
    points, minutes = (sum(getattr(e, what) for e in exercises) for what in ("points", "minutes"))
    total = f"Together: {points} points in about {minutes} minutes."
    return "\n".join([*lines, "", f"{total} `kvteach grade {chapter}` grades all of them."])


def course_table(book):
    """Markdown for the chapters that _toc.yml numbers, and their exercises together."""
    from kvteach.grading.course import read_manifest

    toc = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf8"))
    rows, everything = [], read_manifest()
    for part in (part for part in toc["parts"] if part.get("numbered")):
        for name in (chapter["file"] for chapter in part["chapters"]):
            own = [e for e in everything if e.chapter == f"ch{name[:2]}"]
            rows.append((f"{{doc}}`{name}`", own))
    rows.append(("Together", [exercise for _, own in rows for exercise in own]))
    lines = ["| Chapter | Exercises | Points | Minutes |", "|---|--:|--:|--:|"]
    for title, own in rows:
        points, minutes = (sum(getattr(e, what) for e in own) for what in ("points", "minutes"))
        lines.append(f"| {title} | {len(own)} | {points} | {minutes} |")
    return "\n".join(lines)


def task(exercise):
    """What an exercise is about: the first line of its file's docstring."""
    source = (SOLUTIONS / exercise.file).read_text(encoding="utf8")
    return ast.get_docstring(ast.parse(source)).splitlines()[0]


def copy_mathjax(app):
    """Put MathJax and its fonts, with their licence, into the built book."""
    if app.builder.format != "html":
        return
    spec = find_spec(MATHJAX_WHEEL)
    if spec is None:
        raise RuntimeError(f"{MATHJAX_WHEEL} is missing; run `make book` to install it")
    source = Path(spec.origin).parent / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    for part in MATHJAX_PARTS:
        place = target / part
        if (source / part).is_dir():
            shutil.copytree(source / part, place, dirs_exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / part, place)


def share_html_handlers(app):
    """Let the one-page build render every node that the HTML build can.

    An extension that registers handlers for "singlehtml" hides all those that
    others registered for "html" only.
    """
    handlers = app.registry.translation_handlers
    html = handlers.get("html", {})
    handlers["singlehtml"] = {**html, **handlers.get("singlehtml", {})}


def mend_markup(app, pagename, templatename, context, doctree):
    """What the writer of Sphinx gets wrong for readers who listen to a page.

    References carry a role that has been withdrawn and may not stand in a list, and
    the empty corner of a table is written as a header without a text.
    """
    if body := context.get("body"):
        body = body.replace('role="doc-biblioentry"', 'role="listitem"')
        context["body"] = EMPTY_HEADER.sub(r"<td\1></td>", body)


def setup(app):
    app.add_directive("notation", Notation)
    app.add_directive("exercises", Exercises)
    app.add_directive("source", Source)
    app.add_directive("course", Course)
    app.connect("autodoc-process-docstring", docstrings.process)
    app.connect("autodoc-skip-member", docstrings.skip)
    app.connect("builder-inited", copy_mathjax)
    app.connect("builder-inited", share_html_handlers)
    app.connect("html-page-context", mend_markup)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
