"""The simulation agrees with times that can be calculated by hand, and with bounds that hold for every schedule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import ConfigError
from themescope.jobs.planning.simulation import MAX_SIMULATED, Faults, Machine, Stage, simulate


def own_cores(workers: int) -> Machine:
    """Return a machine with more cores than processes, so that none waits for another."""
    return Machine(workers, cores=workers + 1, together=workers + 1)


@pytest.mark.parametrize(("workers", "rounds"), [(1, 12), (2, 6), (5, 3), (12, 1), (40, 1)])
def test_equal_shards_take_as_many_rounds_as_workers_need(workers: int, rounds: int) -> None:
    outcome = simulate(Stage(shards=12, work_s=3.0), [own_cores(workers)])
    assert outcome.seconds == pytest.approx(3.0 * rounds)
    assert outcome.busy == pytest.approx(12 / (workers * rounds))


def test_without_workers_the_process_of_the_job_does_everything() -> None:
    stage = Stage(shards=10, work_s=2.0, read_s=0.5, write_s=0.25, start_s=60.0)
    assert simulate(stage, [Machine(0, cores=4, together=4.0)]).seconds == pytest.approx(27.5)


def test_two_workers_on_one_core_are_no_faster_than_one() -> None:
    stage = Stage(shards=8, work_s=1.0)
    assert simulate(stage, [Machine(2)]).seconds == pytest.approx(simulate(stage, [Machine(1)]).seconds)


def test_cores_that_share_their_units_help_as_much_as_was_measured() -> None:
    one, two = (simulate(Stage(shards=100, work_s=1.0), [Machine(n, 2, together=1.3)]).seconds for n in (1, 2))
    assert one / two == pytest.approx(1.3)


def test_storing_in_one_process_is_the_limit() -> None:
    outcome = simulate(Stage(shards=500, work_s=1.0, write_s=0.5), [own_cores(16)])
    # Shards are read only when no result waits to be stored, so that the workers run out of work for a moment.
    assert outcome.seconds == pytest.approx(500 * 0.5, rel=0.05)
    assert outcome.busy < 0.2


def test_a_second_machine_has_its_own_cores() -> None:
    stage = Stage(shards=100, work_s=1.0)
    assert simulate(stage, [Machine(2, 2, 1.0), Machine(2, 2, 1.0)]).seconds == pytest.approx(50.0)


def test_workers_start_before_they_compute() -> None:
    assert simulate(Stage(shards=4, work_s=1.0, start_s=7.0), [own_cores(2)]).seconds == pytest.approx(9.0)


def test_a_slow_machine_holds_up_the_end() -> None:
    stage = Stage(shards=2, work_s=1.0)
    assert simulate(stage, [Machine(1), Machine(1, pace=0.25)]).seconds == pytest.approx(4.0)


def test_dead_workers_repeat_shards_and_take_longer() -> None:
    stage = Stage(shards=400, work_s=10.0)
    calm, rough = (simulate(stage, [own_cores(4)], Faults(deaths)) for deaths in (0.0, 30.0))
    assert calm.repeated == 0
    assert rough.repeated > 10
    # Each death costs the work since the start of the shard, at most 10 s, and 10 s until the next worker starts.
    assert calm.seconds < rough.seconds <= calm.seconds + rough.repeated * 20.0
    assert rough == simulate(stage, [own_cores(4)], Faults(30.0))


def test_many_shards_are_extrapolated_from_the_steady_state() -> None:
    stage = Stage(shards=10 * MAX_SIMULATED, work_s=2.0, write_s=0.1, start_s=50.0)
    assert simulate(stage, [own_cores(8)]).seconds == pytest.approx(50 + stage.shards * 2.0 / 8, rel=0.01)


def test_no_shards_take_no_time() -> None:
    assert simulate(Stage(shards=0, work_s=1.0), [Machine(2)]).seconds == 0.0


def test_no_machine_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one machine"):
        simulate(Stage(shards=1, work_s=1.0), [])


@pytest.mark.parametrize("wrong", [{"cores": 0}, {"together": 3.0}, {"together": 0.5}, {"pace": 0.0}])
def test_impossible_machines_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="cannot be simulated"):
        Machine(1, **{"cores": 2, **wrong})  # type: ignore[arg-type]


times = st.floats(0.0, 5.0)


@given(
    shards=st.integers(1, 60), work=st.floats(0.01, 5.0), read=times, write=times, start=times,
    workers=st.lists(st.integers(1, 5), min_size=1, max_size=3), spread=st.floats(0.0, 1.5), seed=st.integers(0, 9),
)  # fmt: skip
def test_no_schedule_is_faster_than_its_work(
    shards: int, work: float, read: float, write: float, start: float, workers: list[int], spread: float, seed: int
) -> None:
    stage = Stage(shards, work, read, write, spread, start)
    alone = simulate(stage, [Machine(0)], seed=seed)
    machines = [Machine(n, cores=n, together=n) for n in workers]
    found = simulate(stage, machines, seed=seed)
    serial = shards * (read + write)
    computing = alone.seconds - serial
    assert found.seconds >= max(serial, computing / sum(workers)) * (1 - 1e-9)
    assert found.seconds <= (alone.seconds + start * sum(workers)) * (1 + 1e-9)
    assert 0 <= found.busy <= 1 + 1e-9
