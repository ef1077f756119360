"""What goes wrong in a learner's code earns nothing and stops nothing."""

import re

import pytest
import torch

from kvteach.grading import answer
from kvteach.grading.answer import Answer, Worker

HEAD = "import os, signal, sys, threading, time\nimport pytest\nimport torch\n"
ZEROS = "    return torch.zeros_like(v[..., 0, :])\n"

IN_THE_FUNCTION = {
    "hard exit": ("os._exit(0)", "ended the process"),
    "exit": ("sys.exit(0)", "SystemExit"),
    "skip": ("pytest.skip('later')", "skipped the check"),
    "expected failure": ("pytest.xfail('later')", "XFailed"),
    "interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "endless loop": ("while True: pass", r"computing.*\nline 6: while True: pass"),
    "endless wait": ("time.sleep(99)", "without an answer"),
    "stopped by itself": ("os.kill(os.getpid(), signal.SIGSTOP)", "without an answer"),
    "loop that catches everything": (
        "while True:\n        try: time.sleep(0.01)\n        except BaseException: pass",
        "without an answer",
    ),
    "question to the user": ("input()", "EOFError"),
    "segmentation fault": ("os.kill(os.getpid(), signal.SIGSEGV)", "ended the process"),
    "signal to the parent": (
        "os.kill(os.getppid(), signal.SIGKILL); time.sleep(9)",
        "ended the process",
    ),
    "signal to the group": ("os.killpg(0, signal.SIGKILL)", "ended the process"),
    "10 GB in torch": ("torch.empty(10 * 2**30, dtype=torch.uint8)", "4 GiB of memory"),
    "10 GB in Python": ("bytearray(10 * 2**30)", "4 GiB of memory"),
    "flood of output": ("while True: print('x' * 1000)", "1 MiB of output"),
    "thread left running": (
        "threading.Thread(target=time.sleep, args=(9,)).start()",
        "left a thread running",
    ),
    "fork": ("os.fork()", "off by|must raise"),
    "no descriptors left": ("os.closerange(3, 64)", "ended the process"),
    "noise on every descriptor": (
        "[os.write(fd, b'\\xff' * 99) for fd in range(3, 64) if os.path.exists("
        "f'/dev/fd/{fd}') and os.fstat(fd).st_mode & 0o140000 == 0o140000]",
        "cannot be read",
    ),
    "list inside itself": ("x = []; x.append(x); return x", "too large"),
    "large result": ("return torch.zeros(2**25)", "too large"),
    "message that cannot be read": (
        "class E(Exception):\n        def __str__(self): os._exit\n    raise E",
        "raised E",
    ),
    "patched allclose": (
        "torch.allclose = torch.equal = lambda *a, **k: True",
        "off by|must raise",
    ),
    "patched comparison": (
        "torch.Tensor.__eq__ = torch.Tensor.__sub__ = lambda *a: 0",
        "off by|must raise|cannot be read",
    ),
    "the library's own answer": ("import kvteach.rows.error", "not available"),
    "the worked solution": ("import solutions", "not available"),
}

AT_LOADING = {
    "hard exit": ("os._exit(0)", "ended the process"),
    "exit": ("sys.exit(0)", "SystemExit"),
    "skip": ("pytest.skip('all', allow_module_level=True)", "skipped the check"),
    "endless loop": ("while True: pass", r"computing.*\nline 4: while True: pass"),
    "syntax error": ("def broken(:", "SyntaxError.*\nline 4: def broken"),
    "another indentation": ("  x = 1", "IndentationError"),
    "import that is not there": ("import no_such_package", "ModuleNotFoundError"),
    "no such function": ("pass", "has no attribute 'forced_output'"),
    "not a function": ("forced_output = 3", "not callable"),
    "null bytes": ("\0", "cannot be loaded"),
}


def expect_all_told(messages, pattern):
    assert len(messages) == 4
    for message in messages.values():
        assert re.search(pattern, message), message


@pytest.mark.parametrize("what", IN_THE_FUNCTION)
def test_in_the_function(what, submit, monkeypatch):
    code, pattern = IN_THE_FUNCTION[what]
    if what == "endless loop":
        monkeypatch.setattr(answer, "COMPUTE_LIMIT", 0.5)
    if pattern == "without an answer":
        monkeypatch.setattr(answer, "WAIT_LIMIT", 1.0)
    source = f"{HEAD}\ndef forced_output(p, v, kept):\n    {code}\n{ZEROS}"
    expect_all_told(submit("forced_output", source), pattern)


@pytest.mark.parametrize("what", AT_LOADING)
def test_at_loading(what, submit, monkeypatch):
    code, pattern = AT_LOADING[what]
    if what == "endless loop":
        monkeypatch.setattr(answer, "COMPUTE_LIMIT", 0.5)
    expect_all_told(submit("forced_output", HEAD + code + "\n"), pattern)


def test_missing_file(judge, tmp_path):
    expect_all_told(judge("forced_output", tmp_path / "forced_output.py"), "is missing")


@pytest.mark.parametrize(
    "result",
    [
        "type('Equal', (), {'__eq__': lambda *a: True})()",
        "type('T', (torch.Tensor,), {})([0.0])",
        "None",
        "float('nan')",
        "torch.full_like(v[..., 0, :], float('nan'))",
        "v[..., 0, :].float()",
        "v[..., 0, :].numpy()",
        "v[..., :1, :]",
    ],
)
def test_wrong_kinds_of_result(result, submit):
    source = f"{HEAD}\ndef forced_output(p, v, kept):\n    return {result}\n"
    assert all(submit("forced_output", source).values())


def test_the_zygote_is_replaced_after_it_was_killed(submit, solution, zygote):
    zygote.process.kill()
    zygote.process.wait()
    assert set(submit("forced_output", solution("forced_output")).values()) == {""}


def test_a_worker_keeps_nothing_for_the_next_one(zygote, tmp_path):
    path = tmp_path / "counter.py"
    path.write_text(
        "import torch\nn = 0\ndef up():\n    global n; n += 1\n    return n\n"
    )
    for _ in range(2):
        worker = Worker(zygote)
        worker.load(path)
        counter = Answer(worker)
        assert [counter.up(), counter.up()] == [1, 2]
        worker.close()


def test_an_edited_file_is_read_again(zygote, tmp_path):
    """No bytecode cache: two edits in one second are two files."""
    path = tmp_path / "number.py"
    for value in (1, 2):
        path.write_text(f"def number():\n    return {value}\n")
        worker = Worker(zygote)
        worker.load(path)
        assert Answer(worker).number() == value
        worker.close()


def test_changed_arguments_are_told_by_place_and_name(zygote, tmp_path):
    path = tmp_path / "change.py"
    path.write_text(
        "def clean(*args, **kwargs): return 0\n"
        "def second(a, b): b += 1\n"
        "def named(*, x): x.append(1)\n"
        "def other_entries(x): x.T[0, 0] = 9\n"
    )
    worker = Worker(zygote)
    worker.load(path)
    change = Answer(worker)
    stepped = torch.arange(12.0).view(3, 4)[:, ::2]
    assert change.clean(stepped, float("nan"), x=[1, None]) == 0
    for call, where in (
        (lambda: change.second(torch.ones(2), torch.ones(2)), "argument 2"),
        (lambda: change.named(x=[]), "argument x"),
        (lambda: change.other_entries(stepped), "argument 1"),
    ):
        with pytest.raises(answer.WrongAnswer, match=where):
            call()
    worker.close()
