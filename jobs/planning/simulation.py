"""Discrete-event simulation of the shards of a job: how long a job takes on machines that were not measured.

It follows :class:`themescope.jobs.executors.base.ShardExecutor`: the process of the job reads shards a few ahead,
workers compute them, and the same process stores the results in order. Processes of a machine share its cores, so that
a further worker helps less once the cores are in use. Shards differ in length (stragglers), workers die and start
again, and a lost shard is computed again.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import numpy as np

from themescope.core.errors import ConfigError
from themescope.jobs.executors.base import WINDOW

MAX_SIMULATED = 4_000
"""Shards that are simulated; the time of more follows from the second half of them, which is a steady state."""


@dataclass(frozen=True)
class Machine:
    """Cores that the processes of a machine share."""

    workers: int
    """Worker processes on it."""
    cores: int = 1
    together: float = 1.0
    """Speed of all cores in use at once, as a multiple of the speed of one core in use alone (1…cores)."""
    pace: float = 1.0
    """Speed of one core, as a multiple of the speed of the measured machine."""

    def __post_init__(self) -> None:
        if self.workers < 0 or self.cores < 1 or not 1.0 <= self.together <= self.cores or self.pace <= 0:
            raise ConfigError(f"This machine cannot be simulated: {self}. Give together from 1 to cores, and pace > 0.")

    def speed(self, running: int) -> float:
        """Return the speed of each of ``running`` processes, as a multiple of one alone on the measured machine."""
        more = (min(running, self.cores) - 1) / max(self.cores - 1, 1)
        return self.pace * (1.0 + (self.together - 1.0) * more) / running


@dataclass(frozen=True)
class Stage:
    """One step of a job, cut into shards. Times are those of one core that nothing else uses, in seconds."""

    shards: int
    work_s: float
    """Mean time of a worker for a shard."""
    read_s: float = 0.0
    """Time of the process of the job to read a shard and to send it."""
    write_s: float = 0.0
    """Time of the process of the job to receive a result and to store it."""
    spread: float = 0.0
    """Standard deviation of the times of the shards, divided by their mean; the distribution is log-normal."""
    start_s: float = 0.0
    """Time of a worker to start: to import packages and to load a model."""


@dataclass(frozen=True)
class Faults:
    """Deaths of workers, independent of each other."""

    per_hour: float = 0.0
    """Mean number of deaths of a worker in an hour."""
    restart_s: float = 10.0
    """Seconds until a new worker starts in place of a dead one."""


@dataclass(frozen=True)
class Outcome:
    """Result of a simulation."""

    seconds: float
    busy: float
    """Share of the workers' time in which they computed (0…1)."""
    repeated: int
    """Shards that were computed more than once."""


def simulate(stage: Stage, machines: Sequence[Machine], faults: Faults | None = None, seed: int = 0) -> Outcome:
    """Return the time of a stage; the process of the job runs on the first of ``machines``.

    Without any worker, the process of the job computes the shards itself. Raises ``ConfigError`` without machines.
    """
    if not machines:
        raise ConfigError("A simulation needs at least one machine.")
    if stage.shards < 1:
        return Outcome(0.0, 0.0, 0)
    simulated = min(stage.shards, MAX_SIMULATED)
    rng = np.random.default_rng(seed)
    times = _times(stage, simulated, rng)
    if not any(machine.workers for machine in machines):
        seconds = (float(times.sum()) + simulated * (stage.read_s + stage.write_s)) / machines[0].speed(1)
        return Outcome(seconds * stage.shards / simulated, 1.0, 0)
    run = _Run(stage, machines, faults or Faults(), times, rng)
    run.simulate()
    half = run.stored_at[simulated // 2 - 1] if simulated > 1 else 0.0
    per_shard = (run.now - half) / (simulated - simulated // 2)
    seconds = run.now + (stage.shards - simulated) * per_shard
    workers = sum(machine.workers for machine in machines)
    return Outcome(seconds, run.busy_s / (run.now * workers), round(run.repeated * stage.shards / simulated))


def _times(stage: Stage, shards: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the (shards,) times of the workers."""
    variance = np.log1p(stage.spread**2)
    return stage.work_s * rng.lognormal(-variance / 2, np.sqrt(variance), shards)


@dataclass(order=True)
class _Task:
    """Work of one process; ``end`` is in the time of its machine, which counts the work done by each process."""

    end: float
    number: int
    then: Callable[[], None] = field(compare=False)
    dropped: bool = field(default=False, compare=False)


class _Host:
    """A machine with the processes that run on it, which share its cores equally."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._tasks: list[_Task] = []
        self._done = self._time = 0.0
        self._count = self._running = 0
        self.version = 0
        """Number of changes, each of which changes when the next process is done."""

    def add(self, now: float, work: float, then: Callable[[], None]) -> _Task:
        """Start a process with some seconds of work."""
        self._advance(now, 1)
        self._count += 1
        task = _Task(self._done + work, self._count, then)
        heapq.heappush(self._tasks, task)
        return task

    def drop(self, now: float, task: _Task) -> None:
        """End a process before its work is done."""
        self._advance(now, -1)
        task.dropped = True

    def finish(self, now: float) -> _Task:
        """End the first process."""
        self._advance(now, -1)
        return heapq.heappop(self._tasks)

    def next_s(self) -> float | None:
        """Return the seconds until the first process is done; None without processes."""
        while self._tasks and self._tasks[0].dropped:
            heapq.heappop(self._tasks)
        return max(self._tasks[0].end - self._done, 0.0) / self._machine.speed(self._running) if self._tasks else None

    def _advance(self, now: float, change: int) -> None:
        """Let time pass until ``now``, then change the number of processes."""
        if self._running:
            self._done += (now - self._time) * self._machine.speed(self._running)
        self._time = now
        self._running += change
        self.version += 1


@dataclass(eq=False)
class _Worker:
    host: _Host
    task: _Task | None = None
    """What it does; None while it waits for a shard or is dead."""
    shard: int | None = None
    begun: float = 0.0
    waits: bool = False


class _Run:
    """State of a simulation."""

    def __init__(
        self,
        stage: Stage,
        machines: Sequence[Machine],
        faults: Faults,
        times: np.ndarray[tuple[int], np.dtype[np.float64]],
        rng: np.random.Generator,
    ) -> None:
        self._stage, self._faults, self._times, self._rng = stage, faults, times, rng
        hosts = [_Host(machine) for machine in machines]
        self._job_host = hosts[0]
        self._workers = [_Worker(host) for host, m in zip(hosts, machines, strict=True) for _ in range(m.workers)]
        self._window = len(self._workers) * WINDOW
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()  # order of events of the same time, because functions cannot be compared
        self._queue: deque[int] = deque()
        self._waiting: deque[_Worker] = deque()
        self._finished: set[int] = set()
        self._read = 0
        self._job_busy = self._storing = False
        self.now = self.busy_s = 0.0
        self.repeated = 0
        self.stored_at: list[float] = []

    def simulate(self) -> None:
        """Run until all results are stored."""
        for worker in self._workers:
            self._start(worker)
        self._continue_job()
        while len(self.stored_at) < len(self._times):
            self.now, _, event = heapq.heappop(self._events)
            event()

    def _after(self, seconds: float, then: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), then))

    def _run(self, host: _Host, work: float, then: Callable[[], None]) -> _Task:
        task = host.add(self.now, work, then)
        self._expect(host)
        return task

    def _expect(self, host: _Host) -> None:
        """Add the event of the next process that is done on a machine; earlier events of it are void."""
        seconds = host.next_s()
        if seconds is not None:
            self._after(seconds, partial(self._finish, host, host.version))

    def _finish(self, host: _Host, version: int) -> None:
        if version == host.version:
            task = host.finish(self.now)
            self._expect(host)
            task.then()

    def _continue_job(self) -> None:
        """Let the process of the job read shards up to the limit, then store all results that follow, or wait."""
        if self._job_busy:
            return
        stored = len(self.stored_at)
        ready = stored in self._finished
        if self._read < len(self._times) and self._read - stored < self._window and not (self._storing and ready):
            self._job_busy, self._storing = True, False
            self._run(self._job_host, self._stage.read_s, self._sent)
        elif ready:
            self._job_busy = self._storing = True
            self._run(self._job_host, self._stage.write_s, self._stored)

    def _stored(self) -> None:
        self._finished.remove(len(self.stored_at))
        self.stored_at.append(self.now)
        self._job_busy = False
        self._continue_job()

    def _sent(self) -> None:
        self._queue.append(self._read)
        self._read += 1
        self._job_busy = False
        self._assign()
        self._continue_job()

    def _assign(self) -> None:
        """Give shards to waiting workers."""
        while self._queue and self._waiting:
            worker = self._waiting.popleft()
            if worker.waits:  # else it has died
                worker.waits, worker.begun, worker.shard = False, self.now, self._queue.popleft()
                work = float(self._times[worker.shard])
                worker.task = self._run(worker.host, work, partial(self._computed, worker))

    def _wait(self, worker: _Worker) -> None:
        worker.task, worker.shard, worker.waits = None, None, True
        self._waiting.append(worker)
        self._assign()

    def _computed(self, worker: _Worker) -> None:
        assert worker.shard is not None
        self.busy_s += self.now - worker.begun
        self._finished.add(worker.shard)
        self._wait(worker)
        self._continue_job()

    def _start(self, worker: _Worker) -> None:
        worker.task = self._run(worker.host, self._stage.start_s, partial(self._started, worker))

    def _started(self, worker: _Worker) -> None:
        if self._faults.per_hour > 0:
            self._after(float(self._rng.exponential(3600.0 / self._faults.per_hour)), partial(self._die, worker))
        self._wait(worker)

    def _die(self, worker: _Worker) -> None:
        if worker.task is not None:
            worker.host.drop(self.now, worker.task)
            self._expect(worker.host)
        if worker.shard is not None:
            self.busy_s += self.now - worker.begun
            self.repeated += 1
            self._queue.appendleft(worker.shard)
        worker.task, worker.shard, worker.waits = None, None, False
        self._after(self._faults.restart_s, partial(self._start, worker))
        self._assign()
