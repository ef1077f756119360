"""Make exercises/ and manifest.json out of solutions/.

    python -m kvteach.grading.stubs [--force]

solutions/chNN_topic/name.py is the single source. What lies between
``# BEGIN SOLUTION`` and ``# END SOLUTION`` becomes, in the stub, a
NotImplementedError that names exercise, chapter and next step. A stub that
somebody has edited is left alone unless --force is given.
"""

import argparse
import importlib.util
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

from kvteach.grading.course import MANIFEST, digest, read_manifest

REGION = re.compile(
    r"^(?P<indent> +)# BEGIN SOLUTION\n(?:.*\n)*?(?P=indent)# END SOLUTION\n",
    re.MULTILINE,
)
FOLDER = re.compile(r"(ch\d\d)_\w+")


def stub_of(source, folder, name):
    """The text of a stub. Raises ValueError for unmatched or missing markers."""
    chapter = FOLDER.fullmatch(folder).group(1)

    def unsolved(match):
        indent = match["indent"]
        return (
            f"{indent}# Your code goes here, in place of the next lines.\n"
            f"{indent}raise NotImplementedError(\n"
            f'{indent}    "{chapter}/{name} is not solved yet: '
            f'read chapter {chapter[2:]}, "\n'
            f'{indent}    "edit exercises/{folder}/{name}.py, "\n'
            f'{indent}    "then run: kvteach grade {chapter}/{name}"\n'
            f"{indent})\n"
        )

    stub, count = REGION.subn(unsolved, source)
    if not count or "SOLUTION" in stub:
        raise ValueError(
            f"{folder}/{name}.py: solution markers are missing or unmatched"
        )
    return stub


def exercises_of(root):
    """(folder, name) of every solution."""
    found = sorted(root.glob("solutions/ch[0-9][0-9]_*/*.py"))
    return [(path.parent.name, path.stem) for path in found]


def load_file(path):
    """A Python file as a module, whatever folder it is in."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def manifest_entry(root, folder, name):
    """What manifest.json says about one exercise."""
    from kvteach.grading.checks import checks_of  # imports torch

    path = root / "exercises" / folder / f"test_{name}.py"
    module = load_file(path)
    exercise = asdict(module.EXERCISE)
    return {
        "id": f"{folder[:4]}/{name}",
        "folder": folder,
        **exercise,
        "checks": [asdict(function.check) for function in checks_of(module)],
        "checks_sha256": digest(path),
        "stub_sha256": digest(root / "exercises" / folder / f"{name}.py"),
    }


def is_edited(path, manifest):
    """Whether a stub is no longer what the manifest says was generated."""
    known = {Path(entry.file): entry.stub_sha256 for entry in manifest}
    return path.is_file() and digest(path) != known.get(
        Path(path.parent.name, path.name)
    )


def generate(root, manifest_file=MANIFEST, force=False):
    """Write the stubs and the manifest; return the edited stubs left alone.

    Nothing at all is written where one would have to be left alone: the
    manifest would then describe a file that nobody generated.
    """
    manifest = read_manifest(manifest_file) if manifest_file.is_file() else []
    stubs = {}
    for folder, name in exercises_of(root):
        source = (root / "solutions" / folder / f"{name}.py").read_text(
            encoding="utf-8"
        )
        stubs[root / "exercises" / folder / f"{name}.py"] = stub_of(
            source, folder, name
        )
    edited = [
        path
        for path, text in stubs.items()
        if is_edited(path, manifest) and path.read_text(encoding="utf-8") != text
    ]
    if edited and not force:
        return edited
    for path, text in stubs.items():
        path.write_text(text, encoding="utf-8")
    entries = [manifest_entry(root, *exercise) for exercise in exercises_of(root)]
    entries.sort(key=lambda entry: (entry["folder"], entry["number"]))
    text = json.dumps({"exercises": entries}, indent=1, ensure_ascii=False)
    manifest_file.write_text(text + "\n", encoding="utf-8")
    return []


def main(arguments=None):
    """Generate in the checkout that kvteach runs from; 1 where stubs were edited."""
    parser = argparse.ArgumentParser(description="Make the stubs from the solutions.")
    parser.add_argument("--force", action="store_true", help="overwrite edited stubs")
    options = parser.parse_args(arguments)
    root = Path(__file__).resolve().parents[2]
    edited = generate(root, force=options.force)
    for path in edited:
        print(f"{path.relative_to(root)} was edited: left alone", file=sys.stderr)
    if edited:
        print("Nothing was written; --force overwrites them.", file=sys.stderr)
    return 1 if edited else 0


if __name__ == "__main__":
    sys.exit(main())
