"""Processes that train one network together, each on a part of every batch.

Training loops are written for any number of processes: they cut a batch into parts, and the methods of
:class:`Processes` add up what each process computed for its part. In a training with one process, the part is the whole
batch and these methods do nothing. The gradients are added up by PyTorch's DistributedDataParallel.
:mod:`themescope.core.models.launch` starts the processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import torch
from torch import Tensor, distributed, nn

from themescope.core.errors import Cancelled
from themescope.core.models.parts import Index

T = TypeVar("T")
_LEAST = 1e-12  # smallest weight that a sum is divided by
_STREAMS = 1_000_000_007  # distance between the seeds of two processes


class Mean(NamedTuple):
    """A weighted mean of losses over the items of a batch, or the part of it that one process computed."""

    total: Tensor
    """() sum of the weighted losses, with their gradient."""
    weight: Tensor
    """() sum of the weights, a constant."""

    @property
    def value(self) -> Tensor:
        """The mean; 0 without items."""
        return self.total / self.weight.clamp(min=_LEAST)

    def times(self, factor: float) -> Mean:
        """Return ``factor`` times the mean."""
        return Mean(factor * self.total, self.weight)


def nothing(device: torch.device) -> Mean:
    """Return the mean of an empty part of a batch."""
    return Mean(torch.zeros((), device=device), torch.zeros((), device=device))


PartLoss: TypeAlias = Callable[[T], Sequence[Mean]]
"""Function that returns the means whose sum is the loss, for a part of a batch that may be empty."""


@dataclass(frozen=True)
class Processes:
    """The processes of a training, as seen by one of them."""

    rank: int = 0
    """Number of this process, from 0."""
    size: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009  # immutable
    """Device of the tensors that the processes exchange."""

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes checkpoints and results."""
        return self.rank == 0

    def seed(self, seed: int) -> int:
        """Return a seed below 2**63 that differs between processes; the first keeps ``seed`` itself."""
        return (seed + self.rank * _STREAMS) % 2**63

    def part(self, parts: Sequence[T]) -> T:
        """Return that of ``size`` parts which belongs to this process."""
        return parts[self.rank]

    def total(self, x: Tensor) -> Tensor:
        """Return the sum of the tensors ``x`` of all processes, which have the same shape, without gradient."""
        if self.size == 1:
            return x.detach()
        found = x.detach().to(self.device, copy=True)
        distributed.all_reduce(found)
        return found.to(x.device)

    def gathered(self, rows: Index, values: Tensor, count: int) -> Tensor:
        """Return the (count, …) values of all processes, each of which computed those of its ``rows``."""
        if self.size == 1:
            return values
        found = torch.zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
        found[torch.from_numpy(rows).to(values.device)] = values
        return self.total(found)

    def agree(self, compute: Callable[[], T]) -> T:
        """Return the result of ``compute``; raise ``Cancelled`` in all processes if it is raised in one of them.

        A process that left alone would let the others wait for it.
        """
        if self.size == 1:
            return compute()
        found: list[T] = []
        with suppress(Cancelled):
            found.append(compute())
        if self.total(torch.tensor([0.0 if found else 1.0]))[0] > 0:
            raise Cancelled
        return found[0]

    def replicate(self, networks: Sequence[nn.Module], loss: PartLoss[T]) -> Callable[[T], Sequence[Mean]]:
        """Return ``loss`` such that its gradients with respect to ``networks`` are averaged over the processes.

        The networks get the weights of the first process. The result is to be differentiated once after each call.
        """
        if self.size == 1:
            return loss
        replica = nn.parallel.DistributedDataParallel(_Replica(networks, loss), broadcast_buffers=False)

        def means(part: T) -> Sequence[Mean]:
            totals, weights = replica(part)
            return [Mean(*pair) for pair in zip(totals, weights, strict=True)]

        return means

    def loss(self, means: Sequence[Mean]) -> tuple[Tensor, Tensor]:
        """Return what to differentiate in this process, and the loss of the whole batch.

        DistributedDataParallel averages gradients, so that the first is multiplied by the number of processes.
        """
        if self.size == 1:
            loss = _sum(means)
            return loss, loss.detach()
        sums = self.total(torch.stack([torch.stack([mean.total.detach(), mean.weight]) for mean in means]))
        whole = [Mean(total, weight) for total, weight in sums]
        parts = [Mean(mean.total, weight) for mean, (_, weight) in zip(means, whole, strict=True)]
        return self.size * _sum(parts), _sum(whole)


def _sum(means: Sequence[Mean]) -> Tensor:
    return torch.stack([mean.value for mean in means]).sum()


class _Replica(nn.Module):
    """The networks with their loss, as DistributedDataParallel needs them."""

    def __init__(self, networks: Sequence[nn.Module], loss: PartLoss[Any]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self._loss = loss

    def forward(self, part: Any) -> tuple[Tensor, Tensor]:
        """Return the (k,) totals and (k,) weights of the means."""
        means = self._loss(part)
        # Every parameter has a gradient in every process, also in one whose part is empty, which the others wait for.
        of_each = 0.0 * torch.stack([p.float().sum() for p in self.parameters() if p.requires_grad]).sum()
        return torch.stack([mean.total for mean in means]) + of_each, torch.stack([mean.weight for mean in means])


_ALONE = Processes()
_current = _ALONE


def current() -> Processes:
    """Return the processes that this one trains with: itself alone, outside of :func:`together`."""
    return _current


@contextmanager
def together(rank: int, size: int, device: torch.device, meeting: Path) -> Iterator[None]:
    """Train with ``size`` processes in the block; they find each other through the new file ``meeting``.

    They exchange tensors by NCCL on GPUs and by Gloo on a processor.
    """
    global _current
    backend = "nccl" if device.type == "cuda" else "gloo"
    store = distributed.FileStore(str(meeting), size)
    distributed.init_process_group(backend, store=store, rank=rank, world_size=size)
    _current = Processes(rank, size, device)
    try:
        yield
    finally:
        _current = _ALONE
        distributed.destroy_process_group()
