"""Write each chapter as an .ipynb (`make notebooks` calls this).

    python tools/notebooks.py [--out DIR]
    python tools/notebooks.py --launch

A wheel of kvteach and the recorded runs go beside the notebooks. The first cell of
each installs kvteach where it is missing: from that wheel, or from the repository if
_config.yml names its address; from there it takes the recorded runs as well. --launch
writes only the notebooks, beside the chapters in book/, where launch buttons look for
them once they are committed.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import book_chapters
import book_markdown
import jupytext
import nbformat
import yaml
from book_references import references

ROOT = Path(__file__).resolve().parent.parent
FRESH = {"jupytext", "source_map"}
RECORDS = "results"

INSTALL = '''\
# Installs kvteach where it is missing, and does nothing elsewhere.
import importlib.util
import pathlib
import subprocess
import sys

if importlib.util.find_spec("kvteach") is None:
    wheels = sorted(str(wheel) for wheel in pathlib.Path().glob("kvteach-*.whl"))
    address = {address!r}
    if not wheels and address is None:
        raise FileNotFoundError("put the kvteach wheel beside this notebook")
    if not wheels:
        clone = pathlib.Path("kvteach-repository").resolve()
        subprocess.run(["git", "clone", "--depth", "1", address, str(clone)], check=True)
        if not pathlib.Path({records!r}).exists():
            pathlib.Path({records!r}).symlink_to(clone / "benchmarks" / "results")
    source = wheels[-1] if wheels else str(clone)
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
    return INSTALL.format(address=url or None, records=RECORDS,
                          data=[name for name in packages if name])


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


def notebook_of(page, root, expand, refer):
    """One chapter as a notebook with plain Markdown cells and an install cell."""
    notebook = jupytext.read(page)
    about = nbformat.v4.new_markdown_cell(
        f"*A chapter of kvteach, as a notebook.* {macros(root)}"
    )
    cells = [nbformat.v4.new_code_cell(install_cell(root).rstrip()), about]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = cell.source.replace("../benchmarks/results", RECORDS)
        if cell.cell_type == "markdown":
            cell.source = book_markdown.plain(refer.resolve(cell.source), expand)
        if cell.source.strip():
            cells.append(cell)
        if figure := cell.metadata.get("mystnb", {}).get("figure"):
            cells.append(nbformat.v4.new_markdown_cell(caption(figure, refer)))
    metadata = {k: v for k, v in notebook.metadata.items() if k not in FRESH}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def caption(figure, refer):
    """The caption of a figure in italics, after its number."""
    text = book_markdown.plain(refer.resolve(" ".join(figure["caption"].split())))
    number = refer.numbers.get(figure.get("name"))
    return f"*{number}. {text}*" if number else f"*{text}*"


def copy_records(root, out):
    """Put the recorded runs that chapters read beside the notebooks."""
    shutil.copytree(root / "benchmarks" / "results", out / RECORDS, dirs_exist_ok=True)


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
    parser.add_argument("--launch", action="store_true",
                        help="only the notebooks, into book/, for launch buttons")
    asked = parser.parse_args()
    if asked.launch and not config(ROOT)["repository"]["url"]:
        sys.exit("Launch buttons open notebooks of a repository: give its address in "
                 "_config.yml (repository: url) first.")
    out = ROOT / "book" if asked.launch else asked.out
    out.mkdir(parents=True, exist_ok=True)
    expand, refer = printed_directives(ROOT), references(ROOT)
    for page in book_chapters.notebooks(ROOT / "book"):
        nbformat.write(notebook_of(page, ROOT, expand, refer), out / f"{page.stem}.ipynb")
    if asked.launch:
        print(f"Notebooks are in {out}; commit them, and name launch_buttons in _config.yml")
        return
    build_wheel(ROOT, out)
    copy_records(ROOT, out)
    print(f"Notebooks, the wheel of kvteach and the recorded runs are in {out}; keep them "
          "together")


if __name__ == "__main__":
    main()
