"""Measure documents in parallel: processes, progress, what it took.

joblib chooses who works: wrap a call in ``joblib.parallel_config("dask")`` (or
Ray's backend) and a cluster does. Workers return tables and this process writes
them, so a cluster needs no shared disk, but the model and the texts.
"""

import contextlib
import functools
import platform
import sys
import time

import joblib
import torch
from joblib.parallel import get_active_backend

from kvteach import __version__, models


def fill(shards, work, arguments, jobs, say, noun):
    """Compute every missing shard as ``work(*arguments, index)`` and store it."""
    missing = shards.missing()
    done = shards.count - len(missing)
    if done:
        say(f"{done} of {shards.count} {noun}s are there already")
    start = time.perf_counter()
    tasks = [joblib.delayed(timed)(work, *arguments, index) for index in missing]
    for n, (index, table, provenance) in enumerate(results(tasks, jobs), start=1):
        shards.write(index, table, provenance)
        passed = time.perf_counter() - start
        left = passed / n * (len(missing) - n)
        say(
            f"{noun} {done + n} of {shards.count}: {table.num_rows} records, "
            f"{duration(passed)} so far, about {duration(left)} to go"
        )


def results(tasks, jobs):
    """Results as they come; in rounds where the backend returns only whole lists."""
    backend, count = get_active_backend()
    if jobs in (None, 1) and count in (None, 1):
        yield from (task[0](*task[1], **task[2]) for task in tasks)
    elif backend.supports_return_generator:
        yield from joblib.Parallel(
            n_jobs=jobs,
            return_as="generator_unordered",
            pre_dispatch="n_jobs",
            batch_size=1,
        )(tasks)
    else:
        parallel = joblib.Parallel(n_jobs=jobs, batch_size=1)
        step = joblib.effective_n_jobs(jobs)
        for i in range(0, len(tasks), step):
            yield from parallel(tasks[i : i + step])


def timed(work, *arguments):
    """(index, table, provenance) of ``work``, whose last argument is the index."""
    wall, cpu = time.perf_counter(), time.process_time()
    table = work(*arguments)
    return (
        arguments[-1],
        table,
        {
            "seconds": round(time.perf_counter() - wall, 2),
            "cpu_seconds": round(time.process_time() - cpu, 2),
            "machine": f"{platform.processor() or platform.machine()}, Python "
            f"{platform.python_version()}",
            "kvteach": __version__,
        },
    )


def duration(seconds):
    """Seconds as words: 45 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def tell(line):
    """One line of progress on the standard error."""
    print(line, file=sys.stderr, flush=True)


@functools.lru_cache(maxsize=1)
def load_once(name, dtype=None):
    """The model of this process; dtype: a name such as "bfloat16", or the default."""
    return models.load(name, dtype=dtype and getattr(torch, dtype))


@contextlib.contextmanager
def one_thread():
    """One torch thread: sums then do not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
