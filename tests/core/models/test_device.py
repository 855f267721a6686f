import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from themescope.core.errors import ConfigError
from themescope.core.models import networks
from themescope.core.models.networks import done_apart, pick_precision, seeded, thread_count, with_weights


def test_a_block_has_the_numbers_of_its_seed_and_threads_draw_one_after_the_other() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with seeded(7):
        inside = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(7)
    assert torch.equal(torch.rand(3), inside)
    both = threading.Barrier(2)

    def draw(seed: int) -> torch.Tensor:
        with seeded(seed):
            try:
                both.wait(0.2)  # passes only if both are in their blocks at once
            except threading.BrokenBarrierError:
                return torch.rand(3)
        raise AssertionError("two threads drew numbers at the same time")

    with ThreadPoolExecutor(2) as pool:
        found = [*pool.map(draw, (1, 2))]
    for seed, numbers in zip((1, 2), found, strict=True):
        torch.manual_seed(seed)
        assert torch.equal(torch.rand(3), numbers)


@pytest.mark.parametrize(
    ("allowed", "found", "native"),
    [
        ("AVX512", {"avx512_bf16": True}, True),
        ("AVX512", {"amx_bf16": True}, True),
        ("AVX512", {"avx512_bf16": False, "amx_bf16": False}, False),
        ("AVX2", {"avx512_bf16": True}, False),
        ("DEFAULT", {"avx512_bf16": True}, False),
        ("DEFAULT", {"bf16": True}, True),  # ARM
    ],
)
def test_bfloat16_of_the_processor_counts_where_pytorch_may_use_it(
    monkeypatch: pytest.MonkeyPatch, allowed: str, found: dict[str, bool], native: bool
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: allowed)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found)
    assert networks.native_bf16(torch.device("cpu")) == native


def test_a_network_has_a_copy_of_the_weights_and_draws_none() -> None:
    weights = {"weight": torch.ones(2, 3, dtype=torch.float16), "bias": torch.zeros(2)}
    before = torch.random.get_rng_state()
    network = with_weights(lambda: torch.nn.Linear(3, 2), weights)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert network.weight.dtype == torch.float32 and network.weight.requires_grad and not network.training
    weights["bias"] += 1
    assert network(torch.ones(1, 3)).tolist() == [[3, 3]]
    with pytest.raises(RuntimeError, match="size mismatch"):
        with_weights(lambda: torch.nn.Linear(4, 2), weights)


def test_the_number_of_threads_has_no_influence_on_what_is_done_apart() -> None:
    parts = [torch.randn(rows, 384, generator=torch.Generator().manual_seed(rows)) for rows in (40, 41, 42, 43, 60)]
    weights = torch.randn(384, 1536, generator=torch.Generator().manual_seed(0), requires_grad=True)
    cpu, counts = torch.device("cpu"), []

    def work(part: torch.Tensor) -> torch.Tensor:
        counts.append(torch.get_num_threads())
        return torch.nn.functional.gelu(part @ weights).sum(dim=0)

    def done(threads: int, most: int) -> torch.Tensor:
        with thread_count(threads):
            found = torch.stack(done_apart(work, parts, cpu, most))
            assert torch.get_num_threads() == threads  # of this thread, and of those that begin later
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(torch.get_num_threads).result() == threads
        return found

    first = done(1, 0)
    assert not first.requires_grad
    assert all(torch.equal(first, done(*numbers)) for numbers in ((2, 0), (3, 0), (4, 2), (1, 3)))
    assert set(counts) == {1}
    assert done_apart(work, [], cpu, 0) == []


def test_a_thread_that_the_system_refuses_is_an_error_and_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    start, begun, before = threading.Thread.start, [], torch.get_num_threads()

    def refused(thread: threading.Thread) -> None:
        if len(begun) == 2:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        done_apart(torch.sin, [torch.zeros(1)] * 4, torch.device("cpu"), 4)
    monkeypatch.undo()
    for thread in begun:
        thread.join(10)
        assert not thread.is_alive()
    assert torch.get_num_threads() == before


def test_bfloat16_is_chosen_only_where_the_hardware_computes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(networks, "native_bf16", lambda _: True)
    chosen = [pick_precision(wanted, cpu) for wanted in ("auto", "bf16", "fp32")]
    assert chosen == [torch.bfloat16, torch.bfloat16, torch.float32]
    monkeypatch.setattr(networks, "native_bf16", lambda _: False)
    assert [pick_precision(wanted, cpu) for wanted in ("auto", "fp32")] == [torch.float32, torch.float32]
    with pytest.raises(ConfigError, match="Choose precision auto or fp32"):
        pick_precision("bf16", cpu)
