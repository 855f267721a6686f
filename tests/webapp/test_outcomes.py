"""From work that has ended to what came of it, and on to the next step."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, MAP, SET
from themescope.core.records.stored import JobStatus
from themescope.db.store import Store
from themescope.webapp.shared.frame import header

Open = Callable[..., AppTest]


def ended(store: Store, kind: str, args: dict[str, str], result: dict[str, str]) -> int:
    """The id of a job that has gone well."""
    with store.writing() as w:
        job = w.jobs.add(kind, f"Work of {kind}", args)
        w.jobs.claim(job.id, "vm:1:a")
        w.jobs.finish(job.id, "vm:1:a", JobStatus.DONE, result=result)
    return job.id


def test_a_set_and_a_map_that_were_made_are_a_click_away(filled_store: Store, open_page: Open) -> None:
    made = ended(filled_store, "build-triplets", {"corpus": CORPUS}, {"triplets": SET})
    at = open_page("triplets")
    at.session_state["followed_jobs"] = [made]
    at.run().button(key=f"open-{made}").click().run()
    assert not at.exception and at.session_state["triplets_set"] == SET
    drawn = ended(filled_store, "project", {"corpus": CORPUS}, {"map": MAP})
    at = open_page("map")
    at.session_state["followed_jobs"] = [drawn]
    at.run().button(key=f"open-{drawn}").click().run()
    assert not at.exception
    assert at.session_state["map_map"] == MAP


def test_the_tray_notices_a_job_that_ended_before_it_looked_again(
    filled_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    reruns: list[bool] = []
    monkeypatch.setattr(header.st, "session_state", {})
    monkeypatch.setattr(header.st, "rerun", lambda: reruns.append(True))
    header._live(("find-themes",))
    assert not reruns
    ended(filled_store, "find-themes", {"corpus": CORPUS}, {})
    header._live(("find-themes",))
    assert reruns
