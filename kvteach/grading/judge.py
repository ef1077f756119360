"""The child process in which the checks run: `python -m kvteach.grading.judge`.

It reads {"token", "root", "target", "checks"} from standard input and writes
one JSON line per event to standard output, each with the token: a check
started, a check ended, all done. Whatever is not reported earns nothing. The
worker that runs the learner's code inherits neither of the two.
"""

import json
import os
import sys

import pytest


class Reporter:
    """Writes what happens to each check as one line of JSON."""

    def __init__(self, channel, token):
        self.channel, self.token = channel, token
        self.phases = {}

    def write(self, **event):
        """Send one event at once: this process may be killed the next moment."""
        self.channel.write(json.dumps({"token": self.token, **event}) + "\n")
        self.channel.flush()

    def pytest_collectreport(self, report):
        """A check file cannot be loaded: that is our trouble, not the learner's."""
        if report.failed:
            self.write(event="trouble", message=str(report.longrepr)[-1000:])

    def pytest_runtest_logstart(self, nodeid):
        """A check starts."""
        self.phases = {}
        self.write(event="started", check=_check_id(nodeid))

    def pytest_runtest_logreport(self, report):
        """One of setup, call and teardown is over."""
        self.phases[report.when] = report

    def pytest_runtest_logfinish(self, nodeid):
        """A check ended: passed only if all three phases did."""
        passed = len(self.phases) == 3 and all(p.passed for p in self.phases.values())
        messages = [_message(p) for p in self.phases.values() if not p.passed]
        printed = "".join(p.capstdout for p in list(self.phases.values())[-1:])
        self.write(
            event="ended",
            check=_check_id(nodeid),
            passed=passed,
            message="" if passed else "\n".join(messages) or "the check did not finish",
            printed=printed,
        )


def _check_id(nodeid):
    """exercises/ch02_x/test_name.py::test_one -> ch02_x/test_name.py::test_one."""
    path, _, function = nodeid.replace("\\", "/").partition("::")
    return "/".join(path.split("/")[-2:]) + "::" + function


def _message(report):
    if report.skipped:
        return "the check was skipped"
    return str(report.longrepr)


def main():
    """Run the checks that standard input names, then say so."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = json.load(sys.stdin)
    root = order["root"]
    reporter = Reporter(channel, order["token"])
    options = ["-c", os.devnull, "--rootdir", root, "--noconftest"]
    options += ["--import-mode=importlib", "-p", "no:cacheprovider"]
    options += ["-p", "kvteach.grading.plugin", "--target", order["target"]]
    checks = [os.path.join(root, "exercises", check) for check in order["checks"]]
    pytest.main([*options, *checks], plugins=[reporter])
    reporter.write(event="done")


if __name__ == "__main__":
    main()
