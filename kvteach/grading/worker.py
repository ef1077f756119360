"""The process that runs a learner's code, and the one that starts it.

    python -m kvteach.grading.worker FD

imports torch once and then forks a fresh worker for every socket that the
judge sends it over FD: a fork takes milliseconds, an import of torch seconds.
A worker lives for one check. It has a session, a memory limit and a file for
what it prints of its own; it reads the learner's file from an explicit path,
makes the calls it is asked for and answers with plain values.
"""

import contextlib
import ctypes
import errno
import importlib.abc
import os
import resource
import signal
import socket
import sys
import threading
import traceback
import types

import torch

from kvteach.grading.codec import CodecError, receive, send

MEMORY_LIMIT = 4 * 2**30
"""Bytes a worker may use beyond what it starts with."""

PRINT_LIMIT = 2**20
"""Bytes a worker may print, or write to any one file."""

CPU_LIMIT = 60
"""Seconds. The judge's own limits come long before; this one is for orphans."""

MISSING_PACKAGES = ("kvteach", "solutions", "exercises")
"""Not importable here: an exercise asks for the learner's own code."""


class OutOfTime(BaseException):
    """Raised in the learner's code when its processor time is used up."""


def main():
    """Fork a worker for every (socket, printing file) that arrives; end at EOF."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a worker
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            become_worker(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def become_worker(connection, printed):
    """Fence this process in, then serve the judge until it hangs up."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, _stop)
    _die_with_parent()
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(printed)
    _set_limits()
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, _Unavailable())
    try:
        serve(socket.socket(fileno=connection))
    finally:
        os._exit(0)


def _stop(signum, frame):
    raise OutOfTime


def _die_with_parent():
    """On Linux, end as soon as the process that forked us ends."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1 is PR_SET_PDEATHSIG


def _set_limits():
    # Each is a safety net that some system may lack, so a refusal is no failure.
    limits = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, CPU_LIMIT),
        (resource.RLIMIT_FSIZE, PRINT_LIMIT),
    ]
    with contextlib.suppress(OSError), open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
        limits.append((resource.RLIMIT_AS, used + MEMORY_LIMIT))
    for name, limit in limits:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(name, (limit, limit))


class _Unavailable(importlib.abc.MetaPathFinder):
    """Refuses the packages in which the answer could be looked up."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in MISSING_PACKAGES:
            raise ImportError(
                f"{fullname} is not available while grading: "
                "the exercise asks for code of your own"
            )
        return None


def serve(connection):
    """Answer requests: {"load": path} once, then {"call": name, args, kwargs}.

    Each also says after how many seconds of processor time it is stopped.
    """
    me = os.getpid()
    send(connection, {"ready": me})
    module = None
    while True:
        request = receive(connection)
        args, kwargs = request.get("args", ()), request.get("kwargs", {})
        reply = {}
        try:
            signal.setitimer(signal.ITIMER_PROF, request["seconds"])
            if module is None:
                module, path = load(request["load"]), request["load"]
            else:
                reply["value"] = getattr(module, request["call"])(*args, **kwargs)
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.stdout.flush()
        except (
            BaseException
        ) as error:  # SystemExit and pytest's Skipped are no Exception
            signal.setitimer(signal.ITIMER_PROF, 0)
            reply = describe(error, request.get("load") or path)
        if os.getpid() != me:  # the learner's code forked, and this is the copy
            os._exit(1)
        reply["threads"] = threading.active_count() - 1
        reply["args"], reply["kwargs"] = args, kwargs
        _answer(connection, reply)
        del request, args, kwargs, reply


def _answer(connection, reply):
    try:
        send(connection, reply)
    except (CodecError, RecursionError, MemoryError) as error:
        shorter = {
            "error": "CodecError",
            "message": f"the result is too large: {error}",
        }
        send(
            connection,
            {**shorter, "threads": reply["threads"], "args": (), "kwargs": {}},
        )


def load(path):
    """Run the learner's file as a module, from its text: no stale bytecode."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    name = os.path.splitext(os.path.basename(path))[0]
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # dataclasses and the like look their module up
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def describe(error, path):
    """What the judge is told about an exception: its name, text and place."""
    message = _text(error)
    name = type(error).__name__
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        name, message = "OutputLimit", f"more than {PRINT_LIMIT // 2**20} MiB of output"
    no_memory = isinstance(error, RuntimeError) and "allocate memory" in message
    if isinstance(error, MemoryError) or no_memory:
        gibibytes = MEMORY_LIMIT // 2**30
        name = "MemoryLimit"
        message = f"more than the {gibibytes} GiB of memory that a check may use"
    return {"error": name, "message": message, "where": _place(error, path)}


def _text(error):
    try:
        return str(error)[:2000]
    except BaseException:  # __str__ is the learner's code as well
        return "(its message cannot be read)"


def _place(error, path):
    """The last line of the learner's own file that the exception went through."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"line {error.lineno}: {(error.text or '').strip()}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == path]
    return f"line {own[-1].lineno}: {own[-1].line}" if own else ""


if __name__ == "__main__":
    main()
