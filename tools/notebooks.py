"""Write each chapter as an .ipynb (`make notebooks` calls this).

    python tools/notebooks.py [--out DIR]

A wheel of kvteach goes beside the notebooks. The first cell of each installs
kvteach where it is missing: from that wheel, or from the repository if
_config.yml names its address.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import yaml

import book_chapters
import book_markdown

ROOT = Path(__file__).resolve().parent.parent
FRESH = {"jupytext", "source_map"}

INSTALL = '''\
# Installs kvteach where it is missing, and does nothing elsewhere.
import importlib.util
import pathlib
import subprocess
import sys

if importlib.util.find_spec("kvteach") is None:
    wheels = sorted(str(wheel) for wheel in pathlib.Path().glob("kvteach-*.whl"))
    source = wheels[-1] if wheels else {address!r}
    if source is None:
        raise FileNotFoundError("put the kvteach wheel beside this notebook")
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, source], check=True)
    subprocess.run([*pip, "--no-deps", *{data!r}], check=True)
'''


def config(root):
    return yaml.safe_load((root / "_config.yml").read_text(encoding="utf8"))


def macros(root):
    """The book's TeX macros, as a formula that a notebook understands."""
    tex = config(root)["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    lines = []
    for name, meaning in tex.items():
        body, count = meaning if isinstance(meaning, list) else (meaning, 0)
        arguments = f"[{count}]" if count else ""
        lines.append(f"\\newcommand{{\\{name}}}{arguments}{{{body}}}")
    return "$" + "".join(lines) + "$"


def install_cell(root):
    """Source of the first cell."""
    url = config(root)["repository"]["url"]
    data = (root / "requirements-data.txt").read_text(encoding="utf8")
    packages = [row.split("#")[0].strip() for row in data.splitlines()]
    return INSTALL.format(address=f"git+{url}" if url else None,
                          data=[name for name in packages if name])


def citations(root):
    """What to print for each key of the bibliography, like "Vaswani et al., 2017"."""
    from pybtex.database import parse_file

    shown = {}
    for key, entry in parse_file(str(root / "book" / "references.bib")).entries.items():
        names = [" ".join(map(str, person.rich_last_names)) for person in entry.persons["author"]]
        who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        shown[key] = f"{who}, {entry.fields['year']}"
    return shown


def cite(text, shown):
    """Replace the citation roles in a text."""
    def replace(found):
        return "(" + "; ".join(shown[key.strip()] for key in found[1].split(",")) + ")"

    return re.sub(r"\{cite(?::\w+)?\}`([^`]+)`", replace, text)


def printed_directives(root):
    """What directives of the book's own print, out of the extension itself."""
    sys.path.insert(0, str(root / "book" / "_ext"))
    import kvbook
    from kvteach import notation

    return {
        "notation": lambda group: notation.markdown_table(getattr(notation, group)),
        "exercises": kvbook.exercise_list,
        "source": kvbook.source_of,
    }


def notebook_of(page, root, expand, shown):
    """One chapter as a notebook with plain Markdown cells and an install cell."""
    notebook = jupytext.read(page)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = book_markdown.plain(cite(cell.source, shown), expand)
    about = nbformat.v4.new_markdown_cell(
        f"*A chapter of kvteach, as a notebook.* {macros(root)}"
    )
    first = nbformat.v4.new_code_cell(install_cell(root).rstrip())
    cells = [cell for cell in notebook.cells if cell.source.strip()]
    metadata = {k: v for k, v in notebook.metadata.items() if k not in FRESH}
    return nbformat.v4.new_notebook(cells=[first, about, *cells], metadata=metadata)


def build_wheel(root, out):
    """Put a fresh wheel of kvteach into the folder."""
    for old in out.glob("kvteach-*.whl"):
        old.unlink()
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
               "--disable-pip-version-check", "--wheel-dir", str(out), str(root)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nThe wheel of kvteach could not be built.")


def main():
    parser = argparse.ArgumentParser(description="Write each chapter as a notebook.")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "notebooks")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    expand, shown = printed_directives(ROOT), citations(ROOT)
    for page in book_chapters.notebooks(ROOT / "book"):
        nbformat.write(notebook_of(page, ROOT, expand, shown), out / f"{page.stem}.ipynb")
    build_wheel(ROOT, out)
    print(f"Notebooks and the wheel of kvteach are in {out}")


if __name__ == "__main__":
    main()
