"""Executors, which compute the shards of a job in several processes. The setting ``EXECUTOR_URL`` chooses one.

An executor is a class with :meth:`~themescope.core.types.Executor.map`; subclasses of
:class:`themescope.jobs.executors.ShardExecutor` provide a pool of workers. The row of the job remains the truth:
an executor stores nothing itself.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import pickle
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from enum import Enum, EnumType
from functools import lru_cache
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config, option
from themescope.core.errors import ConfigError, ExecutorError, ThemescopeError
from themescope.core.registry import Card, Registry
from themescope.core.types import Records, Report, Shard


@dataclass(frozen=True, slots=True)
class ExecutorCard(Card):
    """Declaration of an executor; ``scheme`` is the scheme of its URLs, empty for the default."""

    source: str = "Themescope"
    factory: str = ""
    config: str = ""
    scheme: str = ""


REGISTRY = Registry(
    "executor",
    [
        ExecutorCard(
            id="local",
            title="Local processes",
            summary="Processes on the machine of the worker, one per core. Models run in the process of the job.",
            factory="themescope.jobs.executors:LocalExecutor",
            config="themescope.jobs.executors:LocalConfig",
        ),
        ExecutorCard(
            id="ray",
            title="Ray",
            summary="Actors of a Ray cluster, one per CPU, or one per GPU for models. Each loads its own copy of a "
            "model. Needs the extra ray.",
            source="Moritz et al. 2018, Ray: A distributed framework for emerging AI applications",
            factory="themescope.jobs.executors.ray_cluster:RayExecutor",
            config="themescope.jobs.executors.ray_cluster:RayConfig",
            scheme="ray",
        ),
    ],
)


def open_executor(url: str) -> ShardExecutor:
    """Return the executor of a URL such as ``ray://host:10001``; the local processes for an empty one.

    Processes are started, and a cluster is reached, on first use. Raises ``ConfigError`` for an unknown scheme.
    """
    scheme, _, address = url.rpartition("://")
    for card in REGISTRY:
        if card.scheme == scheme:
            executor: ShardExecutor = REGISTRY.build(card.id, {"address": address} if scheme else None)
            return executor
    known = " or ".join(f"{card.scheme}://…" for card in REGISTRY if card.scheme)
    raise ConfigError(f"EXECUTOR_URL must be empty or {known}, not {url!r}.")


# What executors share: order, completion records, progress, shards of dead workers; and local processes

logger = logging.getLogger(__name__)

MAX_DEATHS = 3
"""Deaths of its worker after which a shard fails."""
POLL_S = 0.5
"""Seconds between two reports while shards are computed."""
WINDOW = 3
"""Shards in progress per worker: enough to keep it busy, few enough for constant memory."""


class WorkerDied(Exception):
    """Raised by a pool for a shard whose worker, or its machine, died."""


@dataclass(frozen=True)
class Failure:
    """Exception in a worker. Not every exception can be sent to another process."""

    error: bytes
    """The exception, for :func:`data_of`; empty if it cannot be restored from that."""
    message: str
    """The message for users, or the type and the text of a defect."""
    details: str
    """Traceback in the worker."""
    defect: bool
    """Whether it is a defect of Themescope rather than an error with a message for users."""

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Return the failure of a shard that raised ``error``."""
        defect = not isinstance(error, ThemescopeError)
        text = f"{type(error).__name__}: {error}" if defect else str(error)
        data = b""
        with suppress(Exception):  # it is not the same afterwards, as with many arguments of their own
            restored = data_of(sent := as_data(error))
            data = sent if type(restored) is type(error) and str(restored) == str(error) else b""
        return cls(data, text, traceback.format_exc(), defect)

    def exception(self) -> Exception:
        """Return the exception, or one with the same message."""
        error: Exception = RuntimeError(self.message) if self.defect else ExecutorError(self.message)
        with suppress(Exception):  # of a kind that is not restored, or made up by a process that is not trusted
            error = data_of(self.error) if self.error else error
        error.add_note(self.details)
        return error


# What processes send that are not trusted, since a file or a model of others may have taken them over

_reading = threading.Lock()
_OURS = ("themescope.core.", "themescope.db.", "themescope.jobs.")
"""Packages whose dataclasses, tuples, enumerations and exceptions are data."""
_PLAIN = {
    "builtins": ("complex", "dict", "float", "frozenset", "int", "list", "set", "str"),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "pathlib": ("Path", "PosixPath", "WindowsPath"),
    "themescope.core.errors": ("_unpickled",),
    __name__: ("_array_of", "_sparse_of"),
}


def as_data(value: Any) -> bytes:
    """Return plain values, arrays, enumerations, dataclasses and exceptions as :func:`data_of` reads them."""
    stream, sparse = io.BytesIO(), sys.modules.get("scipy.sparse")
    pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _ARRAYS | ({sparse.csr_array: _sparse_as_data} if sparse else {})
    pickler.dump(value)
    return stream.getvalue()


def data_of(answer: bytes) -> Any:
    """Return what a process wrote by :func:`as_data`, and nothing else, so that it cannot take this one over.

    Raises ``pickle.UnpicklingError`` where it names something else, such as a function to call, or changes a class.
    """
    with _reading:
        return _Data(io.BytesIO(answer)).load()


class _Data(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self._named: list[tuple[Any, dict[str, Any]]] = []

    def find_class(self, module: str, name: str) -> Any:
        """Return a class of data; nothing else can be named."""
        known = name in _PLAIN.get(module, ())
        found: Any = super().find_class(module, name) if known or module.startswith((*_OURS, "builtins")) else None
        data = isinstance(found, type) and (is_dataclass(found) or issubclass(found, Enum | tuple | Exception))
        if not known and not (data and found.__module__ == module):
            raise pickle.UnpicklingError(f"{module}.{name} is no data.")
        members = found if isinstance(found, EnumType) else ()
        self._named += [(one, dict(vars(one))) for one in (found, *members)]
        return found

    def load(self) -> Any:
        """Return the value. A pickle may set attributes of what it names; for all but its own values that is undone."""
        try:
            return super().load()
        finally:
            if changed := [one for one, before in self._named[::-1] if _restored(one, before)]:
                raise pickle.UnpicklingError(f"It changes {changed[0]}.")


def _restored(shared: Any, before: dict[str, Any]) -> bool:
    """Give a class or a member of an enumeration the attributes that it had; return whether they had changed."""
    now, kind = dict(vars(shared)), type if isinstance(shared, type) else object
    changed = [name for name in before | now if now.get(name, now) is not before.get(name, before)]
    for name in changed:
        kind.__delattr__(shared, name)
        if name in before:
            kind.__setattr__(shared, name, before[name])
    return bool(changed)


def _array_as_data(array: Any) -> tuple[Any, ...]:
    np.lib.format.write_array(stream := io.BytesIO(), np.asarray(array), allow_pickle=False)
    return _array_of, (stream.getvalue(), isinstance(array, np.generic))


def _array_of(data: bytes, scalar: bool) -> Any:
    array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return array[()] if scalar else array


def _sparse_as_data(matrix: Any) -> tuple[Any, ...]:
    return _sparse_of, (matrix.data, matrix.indices, matrix.indptr, matrix.shape)


def _sparse_of(data: Any, indices: Any, starts: Any, shape: Any) -> Any:
    from scipy.sparse import csr_array

    matrix = csr_array((data, indices, starts), shape)
    matrix.check_format(full_check=True)  # otherwise its indices may point anywhere
    return matrix


_ARRAYS: dict[Any, Any] = dict.fromkeys([np.ndarray, *np.sctypeDict.values()], _array_as_data)


class Pool(Protocol):
    """Workers that compute :func:`call`."""

    def submit(self, function: bytes, data: Any) -> Any:
        """Queue a shard and return a hashable handle of it."""
        ...

    def finished(self, handles: Collection[Any], timeout: float) -> Collection[Any]:
        """Return those of ``handles`` that are finished, after at most ``timeout`` seconds.

        Raises ``ExecutorError`` if there are no workers any more.
        """
        ...

    def result(self, handle: Any) -> Any:
        """Return the result of a finished shard; raises :class:`WorkerDied`, and has replaced the worker then."""
        ...

    def close(self) -> None:
        """End the workers."""
        ...


class ShardExecutor(ABC):
    """Executor over a pool of workers, which starts on first use and stays until :meth:`close`.

    With a single worker on this machine, and if there is only one shard, the shards are computed in this process. A
    function whose attribute ``uses_gpu`` is true is computed by workers with GPUs, where there are any.
    """

    remote = False

    def __init__(self) -> None:
        self._pools: dict[bool, Pool] = {}

    @abstractmethod
    def workers(self) -> int:
        """Return the number of workers."""

    @abstractmethod
    def open_pool(self, gpus: bool) -> Pool:
        """Start the workers, with GPUs if ``gpus`` is true; raises ``ExecutorError`` if they cannot be reached."""

    def map(
        self,
        fn: Callable[[Any], Any],
        shards: Iterable[Shard],
        *,
        report: Report,
        total: int = 0,
        unit: str = "",
        records: Records | None = None,
    ) -> Iterator[Any]:
        """Yield the result of every shard in order; see :meth:`themescope.core.types.Executor.map`."""
        progress = _Progress(report, total, unit)
        if not self.remote:
            first = list(islice(coming := iter(shards), 2))
            shards = chain(first, coming)
            if len(first) < 2 or self.workers() == 1:  # starting processes would take longer
                yield from _here(fn, shards, progress, records)
                return
        gpus = bool(getattr(fn, "uses_gpu", False))
        if gpus not in self._pools:
            self._pools[gpus] = self.open_pool(gpus)
        mapping = _Mapping(self._pools[gpus], pickle.dumps(fn), self.workers() * WINDOW, progress, records)
        complete = False
        try:
            yield from mapping.results(iter(shards))
            complete = True
        finally:
            if not complete:  # shards of a cancelled or failed job would keep the workers busy
                self.close()

    def close(self) -> None:
        """End the workers. The next call of :meth:`map` starts new ones."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def call(function: bytes, data: Any) -> Any:
    """Compute a shard in a worker; return the result or a :class:`Failure`."""
    try:
        return _function(function)(data)
    except Exception as error:
        return Failure.of(error)


@lru_cache(maxsize=1)
def _function(function: bytes) -> Callable[[Any], Any]:
    """Return the worker's copy of a function, which keeps what it has loaded."""
    loaded: Callable[[Any], Any] = pickle.loads(function)
    return loaded


@dataclass
class _Progress:
    report: Report
    total: int
    unit: str
    done: int = 0

    def add(self, shard: Shard) -> None:
        self.done += shard.size
        self.send()

    def send(self) -> None:
        count = f"{self.done:,} of {self.total:,}" if self.total else f"{self.done:,}"
        self.report.progress(self.done, self.total, f"{count} {self.unit}" if self.unit else "")


def _here(
    fn: Callable[[Any], Any], shards: Iterable[Shard], progress: _Progress, records: Records | None
) -> Iterator[Any]:
    for shard in shards:
        if records is not None and shard.name in records:
            result = records[shard.name]
        else:
            try:
                result = fn(shard.data)
            except Exception as error:
                error.add_note(f"This happened in {shard.name}.")
                raise
            if records is not None:
                records[shard.name] = result
        progress.add(shard)
        yield result


@dataclass
class _Mapping:
    """One call of ``map``: its shards by position, from submission until their results are yielded."""

    pool: Pool
    function: bytes
    window: int
    progress: _Progress
    records: Records | None
    open: dict[int, Shard] = field(default_factory=dict)
    running: dict[Any, int] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)
    deaths: dict[int, int] = field(default_factory=dict)
    ready: dict[int, Any] = field(default_factory=dict)
    recorded: int = 0

    def results(self, shards: Iterator[Shard]) -> Iterator[Any]:
        coming, following, read = enumerate(shards), 0, False
        while True:
            self._repeat_lost()
            while not (read or self.lost or self._one_alone()) and len(self.open) + len(self.ready) < self.window:
                entry = next(coming, None)
                read = entry is None
                if entry is not None:
                    self._start(*entry)
            if self.running:
                finished = list(self.pool.finished(list(self.running), POLL_S))
                for handle in finished:
                    self._take(handle, self.running.pop(handle))
                if not finished:
                    self.progress.send()
            while following in self.ready:
                yield self.ready.pop(following)
                following += 1
            if read and not self.open and not self.ready:
                logger.info(
                    "%d shards computed, %d taken from records, %d repeated after the death of a worker.",
                    following - self.recorded,
                    self.recorded,
                    sum(self.deaths.values()),
                )
                return

    def _start(self, position: int, shard: Shard) -> None:
        if self.records is not None and shard.name in self.records:
            self.ready[position] = self.records[shard.name]
            self.recorded += 1
            self.progress.add(shard)
            return
        self.open[position] = shard
        self._submit(position)

    def _submit(self, position: int) -> None:
        self.running[self.pool.submit(self.function, self.open[position].data)] = position

    def _repeat_lost(self) -> None:
        """Submit lost shards again: those that were lost twice alone, which shows the one that kills its worker."""
        self.lost.sort()
        while self.lost and not self._one_alone() and not (self.running and self._suspect(self.lost[0])):
            self._submit(self.lost.pop(0))

    def _one_alone(self) -> bool:
        return any(self._suspect(position) for position in self.running.values())

    def _suspect(self, position: int) -> bool:
        return self.deaths.get(position, 0) >= MAX_DEATHS - 1

    def _take(self, handle: Any, position: int) -> None:
        shard = self.open[position]
        try:
            result = self.pool.result(handle)
        except WorkerDied as error:
            self.deaths[position] = self.deaths.get(position, 0) + 1
            if self.deaths[position] >= MAX_DEATHS:
                raise ExecutorError(
                    f"The worker died {MAX_DEATHS} times while it computed {shard.name}, probably because its machine "
                    f"ran out of memory. Free memory or use less data, then retry the job. ({error})"
                ) from error
            self.lost.append(position)
            return
        if isinstance(result, Failure):
            failure = result.exception()
            failure.add_note(f"This happened in {shard.name}.")
            raise failure
        if self.records is not None:
            self.records[shard.name] = result
        del self.open[position]
        self.ready[position] = result
        self.progress.add(shard)


Arrays = Sequence[npt.NDArray[Any]]


class ArrayRecords:
    """Results by shard name, each a list of arrays in one file, which appears only when it is complete.

    ``folder`` is created by the first record. Its name must identify everything that the results depend on: a record
    in it is used without a look at the data.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, name: str) -> Path:
        return self._folder / f"{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}.npz"

    def __getitem__(self, name: str) -> Arrays:
        with np.load(self._file(name), allow_pickle=False) as arrays:
            return [arrays[f"arr_{number}"] for number in range(len(arrays.files))]

    def __setitem__(self, name: str, arrays: Arrays) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._file(name).with_suffix(".partial")
        with partial.open("wb") as stream:
            np.savez(stream, *arrays)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, self._file(name))

    def __contains__(self, name: str) -> bool:
        return self._file(name).is_file()


# Executor of local processes: the default


@dataclass(frozen=True)
class LocalConfig(Config):
    """Settings of local processes."""

    workers: int = option(0, "Processes; 0: one per core; 1: the process of the job itself.", low=0, high=256)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalExecutor(ShardExecutor):
    """Executor of local processes, started by "spawn", so that a script needs its ``__name__ == "__main__"`` guard."""

    def __init__(self, config: LocalConfig | None = None) -> None:
        super().__init__()
        self._workers = (config or LocalConfig()).workers or available_cores()

    def workers(self) -> int:
        """Return the number of processes."""
        return self._workers

    def open_pool(self, gpus: bool) -> Pool:
        """Return a pool, which starts its processes with the first shards; processes of a machine share its GPUs."""
        return _Processes(self._workers)


class _Processes:
    """Pool of processes. If one dies, all shards in progress are lost, and new processes replace all of them."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool = self._new()
        self._pools: dict[Future[Any], ProcessPoolExecutor] = {}

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"), initializer=end_with_parent)

    def submit(self, function: bytes, data: Any) -> Future[Any]:
        try:
            handle = self._pool.submit(call, function, data)
        except BrokenProcessPool:  # a process died since the last result
            self._replace()
            handle = self._pool.submit(call, function, data)
        self._pools[handle] = self._pool
        return handle

    def finished(self, handles: Collection[Future[Any]], timeout: float) -> Collection[Future[Any]]:
        return wait(handles, timeout, return_when=FIRST_COMPLETED).done

    def result(self, handle: Future[Any]) -> Any:
        pool = self._pools.pop(handle)
        try:
            return handle.result()
        except BrokenProcessPool:
            if pool is self._pool:  # else another shard that was lost with it has replaced it
                self._replace()
            raise WorkerDied("A local process ended unexpectedly.") from None

    def _replace(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._new()

    def close(self) -> None:
        """End the processes after the shards that they compute now."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def end_with_parent() -> None:
    """End a process of the pool when its parent is killed; otherwise it would wait forever."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
