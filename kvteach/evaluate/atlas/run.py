"""Run a map: documents in parallel, progress, what it took.

joblib chooses who works: wrap a call in ``joblib.parallel_config("dask")`` (or
Ray's backend) and a cluster does. Workers return tables and this process writes
them, so a cluster needs no shared disk, but the model and the texts.
"""

import platform
import sys
import time

import joblib
from joblib.parallel import get_active_backend

from kvteach import __version__
from kvteach.evaluate.atlas.measure import measure
from kvteach.evaluate.atlas.shards import Shards, open_folder


def measure_rows(folder, plan, jobs=None, say=None):
    """Measure what ``folder`` lacks of a plan; returns the table of all rows.

    jobs: processes, as joblib counts them (-1: all cores); None leaves it to
    `joblib.parallel_config`. say: called with each line of progress. Raises
    PlanError when the folder holds another plan.
    """
    open_folder(folder, plan)
    shards = Shards(folder, "rows", len(plan.texts))
    fill(shards, measure, (plan,), jobs, say or tell, "document")
    return shards.merge()


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
