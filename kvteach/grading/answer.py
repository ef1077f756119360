"""The learner's functions as the judge sees them.

`Zygote` starts workers, a `Worker` holds one running copy of the learner's file,
and an `Answer` looks like the learner's module: ``answer.forced_output(p, v,
kept)`` runs in the worker, and every way in which that can go wrong becomes a
`WrongAnswer` with one clear sentence.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from kvteach.grading.codec import CodecError, encode, receive, send

COMPUTE_LIMIT = 4.0
"""Seconds of processor time for loading a file and for each call.

The solutions need milliseconds; a busy machine does not make them need more.
"""

WAIT_LIMIT = 15.0
"""Seconds on the clock for the same: code may also wait instead of computing."""

START_LIMIT = 60.0
"""Seconds until a worker reports itself: the first one waits for torch."""


class WrongAnswer(Exception):
    """The check fails, and the message says why.

    wrong_value: the code ran and answered, only not with the right value, so
    that a hint about the likely mistake helps.
    """

    def __init__(self, message, wrong_value=False):
        super().__init__(message)
        self.wrong_value = wrong_value


@dataclass
class Outcome:
    """What came of one call: a value, or an exception's name and message."""

    value: object = None
    error: str = ""
    message: str = ""
    where: str = ""

    def sentence(self):
        """The exception in words."""
        if self.error == "NotImplementedError":
            return self.message or "not implemented yet"
        place = f"\n{self.where}" if self.where else ""
        if self.error == "OutOfTime":
            spent = f"{COMPUTE_LIMIT:g} seconds of computing"
            return f"your code was stopped after {spent}: does a loop never end?{place}"
        if self.error == "Skipped":
            return f"your code skipped the check, which earns nothing{place}"
        if self.error == "OutputLimit":
            return f"your code wrote {self.message}"
        if self.error == "MemoryLimit":
            return f"your code asked for {self.message}"
        return f"your code raised {self.error}: {self.message}{place}"


class Zygote:
    """Keeps a process that has torch loaded and forks workers off it."""

    def __init__(self):
        self.process = None
        self.start()

    def start(self):
        """Start the process without waiting for it; again after it was killed."""
        self.close()
        self.control, theirs = socket.socketpair()
        command = [sys.executable, "-m", "kvteach.grading.worker", str(theirs.fileno())]
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **one_thread},  # a fork must find no threads running
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()

    def fork(self, connection, printed):
        """Have a worker started on a socket and a file; restart once if need be."""
        for attempt in range(2):
            try:
                socket.send_fds(self.control, [b"w"], [connection, printed])
                return
            except OSError:
                if attempt:
                    raise
                self.start()

    def close(self):
        """End the process: it leaves when its control socket closes."""
        if self.process is not None:
            self.control.close()
            self.process.kill()
            self.process.wait()
            self.process = None


class Worker:
    """One process with one learner's file loaded."""

    def __init__(self, zygote):
        self.printed_file = tempfile.TemporaryFile()
        self.socket, theirs = socket.socketpair()
        self.pid = None
        zygote.fork(theirs.fileno(), self.printed_file.fileno())
        theirs.close()
        self.pid = self._receive(START_LIMIT)["ready"]

    def load(self, path):
        """Run the learner's file. Raises WrongAnswer where that fails."""
        if not path.is_file():
            raise WrongAnswer(f"{path.name} is missing from {path.parent}")
        outcome = self._ask({"load": str(path)})
        if outcome.error:
            raise WrongAnswer(f"{path.name} cannot be loaded: {outcome.sentence()}")

    def call(self, name, args, kwargs):
        """The Outcome of one call. Raises WrongAnswer where none can be had."""
        return self._ask({"call": name, "args": args, "kwargs": kwargs})

    def printed(self):
        """What the code has printed so far."""
        self.printed_file.seek(0)
        return self.printed_file.read(4000).decode(errors="replace")

    def close(self):
        """Kill the worker and whatever it started in its group."""
        self.socket.close()
        self.printed_file.close()
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _ask(self, request):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            send(self.socket, {**request, "seconds": COMPUTE_LIMIT})
        reply = self._receive(WAIT_LIMIT)
        if reply.get("threads"):
            raise WrongAnswer("your code left a thread running after it returned")
        if "call" in request and not reply.get("error"):
            _compare_arguments(request, reply)
        known = {
            k: reply[k] for k in ("value", "error", "message", "where") if k in reply
        }
        return Outcome(**known)

    def _receive(self, limit):
        self.socket.settimeout(limit)
        try:
            reply = receive(self.socket)
        except TimeoutError:
            raise WrongAnswer(
                f"your code was stopped after {limit:g} seconds without an answer"
            ) from None
        except (EOFError, ConnectionResetError):
            raise WrongAnswer(
                "your code ended the process that it ran in, before it returned"
            ) from None
        except CodecError as error:
            raise WrongAnswer(f"your code's answer cannot be read: {error}") from None
        if type(reply) is not dict:
            raise WrongAnswer("your code's answer cannot be read")
        return reply


def _compare_arguments(request, reply):
    """Raise WrongAnswer unless the arguments came back as they were sent."""
    sent, returned = _arguments(request), _arguments(reply)
    for key, value in sent.items():
        if key not in returned or encode(returned[key]) != encode(value):
            raise WrongAnswer(
                f"your code changed argument {key} in place: compute into a new tensor"
            )


def _arguments(message):
    return {**dict(enumerate(message["args"], start=1)), **message["kwargs"]}


class Function:
    """One function of the learner's, called like any other."""

    def __init__(self, worker, name):
        self._worker, self.name = worker, name

    def __call__(self, *args, **kwargs):
        """The value returned. Raises WrongAnswer for an exception instead."""
        outcome = self.outcome(*args, **kwargs)
        if outcome.error:
            raise WrongAnswer(outcome.sentence())
        return outcome.value

    def outcome(self, *args, **kwargs):
        """The value or the exception, for checks of what must be refused."""
        return self._worker.call(self.name, args, kwargs)


class Answer:
    """The learner's module: every attribute is a `Function`."""

    def __init__(self, worker):
        self._worker = worker

    def __getattr__(self, name):
        return Function(self._worker, name)
