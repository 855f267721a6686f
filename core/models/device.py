"""Device, numeric precision, random numbers, number of threads and stored weights of a network."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import torch
from torch import Tensor, nn

from themescope.core.errors import ConfigError

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
