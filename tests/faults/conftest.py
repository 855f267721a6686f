import pytest

from tests.jobs.conftest import add, runner, toys

__all__ = ["add", "runner", "toys"]


@pytest.fixture(autouse=True)
def frequent_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send heartbeats of jobs in this process ten times a second, so that stop requests are seen at once."""
    monkeypatch.setattr("themescope.jobs.queue.control.HEARTBEAT_S", 0.1)
