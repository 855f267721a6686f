"""Random numbers of networks: from their seed, whatever other threads of the process draw."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

from core.models.device import seeded


def test_a_block_has_the_numbers_of_its_seed_and_changes_no_others() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with seeded(7):
        inside = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(7)
    assert torch.equal(torch.rand(3), inside)


def test_threads_draw_one_after_the_other() -> None:
    inside = threading.Barrier(2)

    def draw(seed: int) -> torch.Tensor:
        with seeded(seed):
            try:
                inside.wait(0.2)  # passes only if both are in their blocks at once
            except threading.BrokenBarrierError:
                return torch.rand(3)
        raise AssertionError("two threads drew numbers at the same time")

    with ThreadPoolExecutor(2) as pool:
        found = [*pool.map(draw, (1, 2))]
    for seed, numbers in zip((1, 2), found, strict=True):
        torch.manual_seed(seed)
        assert torch.equal(torch.rand(3), numbers)
