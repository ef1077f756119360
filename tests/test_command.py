"""`python -m kvteach` is the command `kvteach`."""

import subprocess
import sys

import kvteach


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "kvteach", "--version"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip().endswith(kvteach.__version__)
