from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from themescope.jobs.queue.runner import GAP_S, Watch

LIMIT_S = 12.0
START = datetime(2030, 1, 1, tzinfo=UTC)


class Timer:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_time_that_does_not_change_is_found_after_the_limit() -> None:
    timer = Timer()
    watch = Watch(LIMIT_S, timer)
    found = []
    for _ in range(14):
        found.append(watch.look({1: START}))
        timer.seconds += 1
    assert found == [{}] * 12 + [{1: START}] * 2
    assert (watch.unchanged(1), watch.unchanged(2)) == (START, None)
    assert watch.look({}) == {} and watch.unchanged(1) is None


@given(st.lists(st.integers(-100_000, 100_000).filter(bool), min_size=2, max_size=30), st.floats(0.1, 11))
def test_a_time_that_changes_is_never_found_whatever_it_is(changes: list[int], every: float) -> None:
    timer, time = Timer(), START
    watch = Watch(LIMIT_S, timer)
    for change in changes:
        time += timedelta(seconds=change)
        assert watch.look({1: time}) == {}
        timer.seconds += every


def test_after_a_gap_without_looks_the_other_side_gets_time() -> None:
    timer = Timer()
    watch = Watch(LIMIT_S, timer)
    watch.look({1: START})
    timer.seconds = 3600.0
    assert watch.look({1: START}) == {}
    for _ in range(round(LIMIT_S / GAP_S) - 1):
        timer.seconds += 3600.0
        found = watch.look({1: START})
    assert found == {1: START}
