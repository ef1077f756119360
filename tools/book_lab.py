"""Open the chapters as notebooks in JupyterLab (`make lab` calls this).

    python tools/book_lab.py [options of jupyter lab]

Chapters are Markdown files; jupytext opens them as notebooks. The setting that
makes this the default is written into the environment, not into the user's home.
"""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = Path(sys.prefix) / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
DEFAULT_VIEWERS = {
    "@jupyterlab/docmanager-extension:plugin": {
        "defaultViewers": {"markdown": "Jupytext Notebook", "myst": "Jupytext Notebook"}
    },
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false"},
}


def main(options):
    SETTINGS.parent.mkdir(parents=True, exist_ok=True)
    SETTINGS.write_text(json.dumps(DEFAULT_VIEWERS, indent=2))
    command = [sys.executable, "-m", "jupyterlab", "--notebook-dir", str(ROOT), *options]
    if hasattr(os, "getuid") and os.getuid() == 0:
        command.append("--allow-root")       # as in a container; Jupyter refuses otherwise
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    if not options:
        command.append("--LabApp.default_url=/lab/tree/book/00_start_here.md")
    os.execv(sys.executable, command)


if __name__ == "__main__":
    main(sys.argv[1:])
