"""Which pages of the book are notebooks, and running those that changed.

Results go into the cache that Jupyter Book reads, so that rendering finds them
there and runs nothing itself. Running them here has two gains: two chapters at
a time, and the traceback of a failing cell on the screen.
"""

import contextlib
import shutil
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import yaml

AT_ONCE = 2
"""Chapters that run at the same time; each may hold a model of about 1 GB."""

READER = {"name": "myst_nb_md", "type": "plugin"}


def pages(book):
    """The pages that _toc.yml names, in reading order, as paths."""
    toc = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf8"))
    names = [toc["root"]]
    for part in toc.get("parts", [toc]):
        names += [chapter["file"] for chapter in part.get("chapters", [])]
    return [book / f"{name}.md" for name in names]


def is_notebook(page):
    """Whether a page says in its header that it has a kernel."""
    text = page.read_text(encoding="utf8")
    header = text.split("\n---", 1)[0] if text.startswith("---\n") else ""
    return "kernelspec:" in header


def notebooks(book):
    """The pages that hold cells to run, in reading order."""
    missing = [page.name for page in pages(book) if not page.is_file()]
    if missing:
        raise FileNotFoundError(f"_toc.yml names pages that do not exist: {missing}")
    return [page for page in pages(book) if is_notebook(page)]


def cell_timeout(book):
    """Seconds that a cell may run, as _config.yml says."""
    config = yaml.safe_load((book.parent / "_config.yml").read_text(encoding="utf8"))
    return config["execute"]["timeout"]


def run_stale(book, cache_folder, environment):
    """Run every chapter without a cached result; return {name: traceback}.

    Successful results are cached at once, so that an interrupted build keeps
    what it has; a failed chapter leaves no result and runs again next time.
    """
    from jupyter_cache import get_cache
    from jupyter_cache.readers import get_reader

    if storing(cache_folder).exists():      # killed then: a result may be half there
        shutil.rmtree(cache_folder, ignore_errors=True)
        storing(cache_folder).unlink()
    cache = get_cache(str(cache_folder))
    read = get_reader(READER)
    stale = {}
    for page in notebooks(book):
        notebook = read(str(page))
        with contextlib.suppress(KeyError):
            cache.match_cache_notebook(notebook)
            continue
        stale[page] = notebook
    if not stale:
        return {}
    print(f"Running {len(stale)} chapter(s), {min(AT_ONCE, len(stale))} at a time ...", flush=True)
    failures = {}
    timeout = cell_timeout(book)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = {pool.submit(run, page, nb, timeout, environment): page for page, nb in stale.items()}
        for job in as_completed(jobs):
            page = jobs[job]
            seconds, trace = job.result()
            print(f"    {page.stem}: {'FAILED' if trace else 'ran'} in {seconds:.0f} s", flush=True)
            if trace:
                failures[page.name] = trace
            else:
                mark = storing(cache_folder)
                mark.touch()
                store(cache, page, stale[page], seconds)
                mark.unlink()
    return failures


def storing(cache_folder):
    """The file that exists while a result is being put into the cache."""
    return cache_folder.with_name("storing")


def run(page, notebook, timeout, environment):
    """Run one chapter in place; return (seconds, traceback or None).

    A cell that raises, a cell that runs too long and a kernel that dies are
    all failures of the chapter, never of the whole build.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    began = time.monotonic()
    # Timings would go into the cells' metadata, which the cache's key covers.
    client = NotebookClient(notebook, timeout=timeout, kernel_name="python3",
                            record_timing=False,
                            resources={"metadata": {"path": str(page.parent)}})
    trace = None
    try:
        with (page.parent.parent / "_build" / "kernels.log").open("ab") as log:
            client.execute(env=environment, stdout=log, stderr=log)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        trace = str(error)
    return time.monotonic() - began, trace


def store(cache, page, notebook, seconds):
    """Put an executed chapter where Jupyter Book looks for it."""
    from jupyter_cache.base import CacheBundleIn

    bundle = CacheBundleIn(notebook, str(page), data={"execution_seconds": seconds})
    cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
