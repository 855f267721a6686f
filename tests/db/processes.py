"""What other processes do to a store at the same time."""

import multiprocessing
import os
from collections.abc import Callable
from typing import Any

from tests.db.texts import article
from themescope.db.store import Store


def at_once(*work: tuple[Any, ...]) -> list[str]:
    """Run each (function, store, *arguments) in a process of its own, all from the same moment; returns what failed."""
    context = _context()
    errors, start = context.Queue(), context.Barrier(len(work))
    processes = [context.Process(target=_run, args=(start, errors, *task)) for task in work]
    for process in processes:
        process.start()
    for process in processes:
        process.join(180)
    failed = [f"exit code {p.exitcode}" for p in processes if p.exitcode != 0]
    while not errors.empty():
        failed.append(errors.get())
    return failed


def _context() -> Any:
    """Processes that start afresh; where the system can, from one that has imported what they need."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "themescope.db.engine"])
    return context


def _run(start: Any, errors: Any, function: Callable[..., None], store: Store, *arguments: Any) -> None:
    start.wait(180)
    try:
        function(store, *arguments)
    except Exception as error:
        errors.put(repr(error))
    finally:
        store.close()


def edit(store: Store, corpus_id: int, times: int) -> None:
    """What a page does: read, think, write."""
    for n in range(times):
        with store.reading() as r:
            r.corpora.articles(corpus_id)
        with store.writing() as w:
            w.workers.heartbeat(f"{os.getpid()}-{n}", "default")
            assert w.workers.alive()


def load(store: Store, corpus_id: int, times: int) -> None:
    """What a worker does: batch after batch."""
    for n in range(times):
        with store.writing() as w:
            w.corpora.add_articles(corpus_id, [article(f"{n} {i}", 4, 5, 5) for i in range(20)])


def migrate(store: Store) -> None:
    """What every start of the program does."""
    store.migrate()
