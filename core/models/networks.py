"""Networks: device, numeric precision, random numbers, threads, stored weights, training loop and checkpoints."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.config import Config, digest_of
from themescope.core.errors import Cancelled, ConfigError, TrainingError
from themescope.core.types import Report

Network = TypeVar("Network", bound=nn.Module)
Part = TypeVar("Part")
Result = TypeVar("Result")


def pick_device(wanted: str) -> torch.device:
    """Return the device for "auto", "cpu" or "cuda". Raises ``ConfigError`` for "cuda" without a GPU."""
    found = torch.cuda.is_available()
    if wanted == "cuda" and not found:
        raise ConfigError("This machine has no CUDA GPU. Choose device auto or cpu.")
    return torch.device("cuda" if found and wanted != "cpu" else "cpu")


def native_bf16(device: torch.device) -> bool:
    """Return whether the hardware computes bfloat16; emulated on a processor it is about 50 times slower."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    names = ["bf16"]  # of ARM
    # ATEN_CPU_CAPABILITY may limit PyTorch to fewer instructions than the processor has.
    if torch.backends.cpu.get_cpu_capability() not in ("DEFAULT", "AVX2"):
        names += ["avx512_bf16", "amx_bf16"]
    return any(capabilities.get(name) for name in names)


def pick_precision(wanted: str, device: torch.device) -> torch.dtype:
    """Return the dtype of matrix products for "auto", "fp32" or "bf16". Raises ``ConfigError`` for emulated bf16."""
    if wanted == "fp32" or not native_bf16(device):
        if wanted == "bf16":
            raise ConfigError("This processor does not compute bfloat16 natively. Choose precision auto or fp32.")
        return torch.float32
    return torch.bfloat16


def autocast(device: torch.device, precision: torch.dtype) -> AbstractContextManager[object]:
    """Compute matrix products of the block in ``precision``."""
    return nullcontext() if precision == torch.float32 else torch.autocast(device.type, precision)


_SEEDED, _THREADS = threading.Lock(), threading.Lock()


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Draw random numbers from ``seed`` in the block, such as the initial weights of a network or its dropout.

    Numbers of the processor, and of ``device`` if that is a GPU; the generators of other GPUs are not changed. The
    generators belong to the process, so that another thread that trains waits until the block ends.
    """
    gpus = [device] if device is not None and device.type == "cuda" else []
    with _SEEDED, torch.random.fork_rng(devices=gpus):
        torch.default_generator.manual_seed(seed)
        for gpu in gpus:
            with torch.cuda.device(gpu):
                torch.cuda.manual_seed(seed)
        yield


def with_weights(build: Callable[[], Network], weights: Mapping[str, Tensor]) -> Network:
    """Return the network that ``build`` makes, with a float32 copy of ``weights``, for inference.

    No initial weights are drawn: they would be taken from the random numbers of a training in another thread. Raises
    ``RuntimeError`` when names or shapes do not fit the network.
    """
    with torch.device("meta"):
        network = build()
    copies = {name: tensor.to(torch.float32, copy=True) for name, tensor in weights.items()}
    network.load_state_dict(copies, assign=True)
    return network.eval()


@contextmanager
def thread_count(threads: int) -> Iterator[None]:
    """Run the block with this many processor threads; 0 keeps the current number."""
    before = torch.get_num_threads()
    if threads:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def done_apart(work: Callable[[Part], Result], parts: Sequence[Part], device: torch.device, most: int) -> list[Result]:
    """Return ``work`` of each part, without gradients.

    On a processor up to ``most`` parts (0: the number of threads of PyTorch) are done at a time, by one thread each.
    Sums that are divided among threads differ in their last digits from one number of threads to another, and so little
    is enough for other themes. On another device the parts are done one after the other.
    """

    def done(part: Part) -> Result:
        with torch.inference_mode():
            return work(part)

    if device.type != "cpu" or not parts:
        return [done(part) for part in parts]
    with _single_threads(min(most or torch.get_num_threads(), len(parts))) as pool:
        return list(pool.map(done, parts))


@contextmanager
def _single_threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads in which PyTorch does not divide its work among further threads.

    ``torch.set_num_threads`` sets the number of the calling thread, and the one with which new threads begin. The
    latter is set back as soon as all threads of the pool have begun.
    """
    begun = threading.Barrier(count + 1)

    def begin() -> None:
        torch.get_num_threads()  # sets the number of a new thread, which is not done again after the next line
        torch.set_num_threads(1)
        begun.wait()

    with ThreadPoolExecutor(count, initializer=begin) as pool:
        with _THREADS:
            before = torch.get_num_threads()
            try:
                for _ in range(count):
                    pool.submit(int)
                begun.wait()
            except RuntimeError:
                begun.abort()  # the system refused a thread, for which those that have begun would wait
                raise
            finally:
                torch.set_num_threads(before)
        yield pool


# What the training loops of networks share: epochs, validation, updates of the weights, checkpoints and exact resume

_FILE = "training.safetensors"
B = TypeVar("B")
Weights: TypeAlias = Mapping[str, Tensor]
LEAST_WEIGHT = 1e-12
"""Smallest sum of weights that a loss is divided by."""


@dataclass(frozen=True)
class Progress:
    """State of a training of a network. The order of batches and all masks follow from the seed and these counters."""

    epoch: int = 0
    batch: int = 0
    """Number of batches of this epoch that are done."""
    step: int = 0
    evaluated: int = -1
    """Step after which the last validation took place."""
    rate: float = 0.0
    best: float = -1.0
    best_step: int = 0
    without_gain: int = 0
    seconds: float = 0.0
    triplets: int = 0
    """Number of training items seen so far."""
    loss_sum: float = 0.0
    """Sum over the batches since the last validation."""
    loss_count: int = 0
    history: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Trained:
    """The best weights of a training, its history and its metrics."""

    weights: dict[str, Tensor]
    """The parameters that were trained, by name."""
    history: list[dict[str, float]]
    """One row for each validation: epoch, the measure that decides, training loss, learning rate and others."""
    metrics: dict[str, float]


class TrainingLoop(ABC, Generic[B]):
    """One training on batches of type ``B``: an optimizer, and counters in ``self.at``; subclasses add the network.

    Their settings have the fields epochs, gradient_clip, checkpoint_seconds and threads. A checkpoint belongs to the
    settings, the seed and the digests ``data``; the interval of checkpoints and the number of threads may change.
    """

    optimizer: torch.optim.Optimizer
    advice: ClassVar[str] = "Lower the learning rate."
    """What the error of a loss that is not finite recommends."""
    points: ClassVar[int] = 20
    """Number of points of the live curve in an epoch."""

    def __init__(self, config: Config, seed: int, data: Iterable[Any], report: Report, rate: float) -> None:
        self.report, self.seed = report, seed
        self._settings: Any = config
        self.at = Progress(rate=rate)
        self.recent: list[float] = []
        """Losses since the last point of the live curve."""
        self._epoch: tuple[int, Sequence[B]] = (-1, [])
        self.key = digest_of([config.result_settings() | {"checkpoint_seconds": 0, "threads": 0}, seed, *data])
        self.saved = self.clock = time.monotonic()

    @abstractmethod
    def _batches_of(self, epoch: int) -> Sequence[B]:
        """Return the batches of an epoch."""

    @abstractmethod
    def _step(self, batch: B, batches: int) -> None:
        """Change the weights by a batch, by :meth:`_descend`; ``batches`` is their number in an epoch."""

    @abstractmethod
    def _weights(self) -> tuple[Weights, Weights]:
        """Return the present and the best weights, which a checkpoint contains."""

    @abstractmethod
    def _restore(self, weights: Weights, best: Weights) -> None:
        """Take the weights of a checkpoint."""

    @abstractmethod
    def _done(self) -> tuple[float, float]:
        """Return how much is done, and how much there is, in any unit."""

    def _validated(self, batches: int) -> bool:
        """Validate if it is due; return whether training goes on."""
        return True

    def _run(self) -> None:
        """Resume from a checkpoint if there is one, and train to the end, or write a checkpoint when cancelled."""
        self._resume()
        self.saved = self.clock = time.monotonic()
        try:
            while self._going():
                if time.monotonic() - self.saved >= self._settings.checkpoint_seconds:
                    self._save()
        except Cancelled:
            self._save()
            raise
        if folder := self.report.checkpoint_folder():
            (folder / _FILE).unlink(missing_ok=True)

    def _going(self) -> bool:
        """Validate if it is due, then take a step or begin the next epoch; return whether training goes on."""
        batches = self._batches()
        if not self._validated(len(batches)):
            return False
        if self.at.batch == len(batches):
            self.at = replace(self.at, epoch=self.at.epoch + 1, batch=0)
            return bool(self.at.epoch < self._settings.epochs)
        self._step(batches[self.at.batch], len(batches))
        if not self.at.batch % max(len(batches) // self.points, 1):
            self._point(float(np.mean(self.recent)), self.at.epoch + self.at.batch / len(batches))
            self.recent = []
        return True

    def _batches(self) -> Sequence[B]:
        """Return the batches of the present epoch, which are computed once."""
        if self._epoch[0] != self.at.epoch:
            self._epoch = self.at.epoch, self._batches_of(self.at.epoch)
        return self._epoch[1]

    def _point(self, loss: float, epoch: float) -> None:
        self.report.metric("loss", epoch, loss)

    def _tick(self) -> None:
        """Report progress; may raise ``Cancelled``."""
        self.report.progress(*self._done(), f"epoch {self.at.epoch + 1} of {self._settings.epochs}")

    def _descend(self, loss: Tensor, parameters: Iterable[nn.Parameter], items: int) -> None:
        """Change the parameters down the gradient of the loss of a batch of ``items``, and count them.

        Raises ``TrainingError`` for a loss that is not finite.
        """
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, self._settings.gradient_clip)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(f"The loss is not finite after {self.at.step:,} steps. {self.advice}")
        self.optimizer.step()
        self.recent.append(value)
        at = replace(self.at, loss_sum=self.at.loss_sum + value, loss_count=self.at.loss_count + 1)
        self.at = replace(at, step=at.step + 1, batch=at.batch + 1, triplets=at.triplets + items)

    def _resume(self) -> bool:
        """Continue from the checkpoint of the same settings, seed and data; return whether there is one."""
        folder = self.report.checkpoint_folder()
        found = read_arrays(folder / _FILE, self.key) if folder else None
        if found is None:
            return False
        self.at = Progress(**found[0])
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "adam": {}}
        for name, array in found[1].items():
            part, _, name = name.partition("/")
            parts[part][name] = torch.from_numpy(array)
        self._restore(parts["model"], parts["best"])
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in parts["adam"].items():
            index, _, key = name.partition("/")
            state.setdefault(int(index), {})[key] = value
        self.optimizer.load_state_dict({"state": state, "param_groups": self.optimizer.state_dict()["param_groups"]})
        return True

    def _save(self) -> None:
        folder = self.report.checkpoint_folder()
        if folder is not None:
            self.at = replace(self.at, seconds=self._seconds())
            self.clock = time.monotonic()
            present, best = self._weights()
            tensors = {f"model/{name}": tensor for name, tensor in present.items()}
            tensors |= {f"best/{name}": tensor for name, tensor in best.items()}
            for index, values in self.optimizer.state_dict()["state"].items():
                tensors |= {f"adam/{index}/{name}": value for name, value in values.items()}
            arrays = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}
            write_arrays(folder / _FILE, self.key, asdict(self.at), arrays)
        self.saved = time.monotonic()

    def _seconds(self) -> float:
        """Return the seconds of training so far, those before an interruption included."""
        return self.at.seconds + time.monotonic() - self.clock

    def _speed(self) -> float:
        """Return the items per second so far."""
        return self.at.triplets / max(self._seconds(), 1e-9)

    def _set_rate(self, rate: float) -> None:
        self.at = replace(self.at, rate=rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate


class ValidatedLoop(TrainingLoop[B]):
    """A training that keeps the weights with the best value of ``measure``, and ends after validations without a gain.

    The initial network is a candidate too. The settings also have the fields evaluations_per_epoch and patience_stop.
    """

    measure: ClassVar[str]
    """Name of the measure on the validation data; the more the better."""
    curves: ClassVar[tuple[str, ...]]
    """Names of the values of a validation that are shown as curves."""
    best: dict[str, Tensor]

    @abstractmethod
    def _state(self) -> dict[str, Tensor]:
        """Return a copy of the weights of the network, as they are kept."""

    @abstractmethod
    def _measured(self) -> dict[str, float]:
        """Return values on the validation data by name, with that of ``measure``."""

    def _trained(self, counts: Mapping[str, float]) -> Trained:
        """Train to the end; return the best weights, with metrics that include ``counts``."""
        self._run()
        metrics = {
            self.measure: self.at.best,
            "best step": float(self.at.best_step),
            "steps": float(self.at.step),
            **counts,
            "training seconds": self._seconds(),
        }
        return Trained(self.best, self.at.history, metrics)

    def _tick(self) -> None:
        best = f", best {self.measure} {self.at.best:.3f}" if self.at.best >= 0 else ""
        self.report.progress(*self._done(), f"epoch {self.at.epoch + 1} of at most {self._settings.epochs}{best}")

    def _validated(self, batches: int) -> bool:
        parts = self._settings.evaluations_per_epoch
        due = self.at.batch in {math.ceil(batches * part / parts) for part in range(1, parts + 1)} or self.at.step == 0
        if due and self.at.evaluated != self.at.step:
            # Measure the network and keep the best weights.
            epoch = self.at.epoch + self.at.batch / max(batches, 1)
            started = time.monotonic()
            values = self._measured()
            self.clock += time.monotonic() - started  # validation does not count as training time
            gained = values[self.measure] > self.at.best
            loss = self.at.loss_sum / self.at.loss_count if self.at.loss_count else math.nan
            row = {"epoch": epoch, **values, "training loss": loss, "learning rate": self.at.rate}
            row = {name: value for name, value in row.items() if math.isfinite(value)}
            without = 0 if gained else self.at.without_gain + 1
            if gained:
                self.best = self._state()
                self.at = replace(self.at, best=values[self.measure], best_step=self.at.step)
            self.at = replace(self.at, evaluated=self.at.step, without_gain=without, loss_sum=0.0, loss_count=0)
            self.at = replace(self.at, history=[*self.at.history, row])
            self._adapt()
            for name in self.curves:
                if name in row:
                    self.report.metric(name, epoch, row[name])
        return bool(self.at.without_gain < self._settings.patience_stop)

    def _adapt(self) -> None:
        """Change the training after a validation."""


# Checkpoints of a training: one safetensors file whose header contains the progress as JSON, replaced atomically

logger = logging.getLogger(__name__)

Arrays = Mapping[str, np.ndarray[Any, Any]]


def write_arrays(path: Path, key: str, progress: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a checkpoint to a new file that then replaces ``path``, so that a crash leaves one complete file.

    ``key`` is a digest of settings and data; :func:`read_arrays` ignores a checkpoint of another key.
    """
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    save_file(dict(arrays), new, metadata={"key": key, "progress": json.dumps(progress)})
    os.replace(new, path)


def read_arrays(path: Path, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]] | None:
    """Return progress and arrays, or None when the file is missing, damaged, or has another key."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as stored:
            header = stored.metadata() or {}
            if header.get("key") != key:
                return None
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        progress: dict[str, Any] = dict(json.loads(header["progress"]))
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        logger.warning("The checkpoint %s cannot be read (%s). Training starts from the beginning.", path, error)
        return None
    return progress, arrays


def digest_of_arrays(*arrays: np.ndarray[Any, Any]) -> str:
    """Return 16 hex digits of the content of arrays: the data that a checkpoint belongs to."""
    digest = hashlib.blake2b(digest_size=8)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
