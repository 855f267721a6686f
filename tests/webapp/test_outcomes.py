"""From work that has ended to what came of it, and on to the next step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.choices import choice
from tests.webapp.filled import CORPUS, MAP, SET
from themescope.db.records import JobStatus
from themescope.db.store import Store
from themescope.webapp.shared.frame import job_tray

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
    assert not at.exception and choice(at, "triplets_set").value == SET
    drawn = ended(filled_store, "project", {"corpus": CORPUS}, {"map": MAP})
    at = open_page("map")
    at.session_state["followed_jobs"] = [drawn]
    at.run().button(key=f"open-{drawn}").click().run()
    assert not at.exception
    assert choice(at, "map_map").value == MAP


def test_a_model_that_got_another_name_says_so(filled_store: Store, open_page: Open) -> None:
    told = "There was a model called 'net' already, so the new one is called 'net 2'."
    made = ended(filled_store, "train", {"name": "net"}, {"model": "net 2", "renamed": told})
    at = open_page("train")
    at.session_state["followed_jobs"] = [made]
    assert any("the new one is called" in caption.value for caption in at.run().caption)
    at.button(key=f"open-{made}").click().run()
    assert not at.exception
    assert at.query_params["train_view"] in ("Models", ["Models"])
    assert at.query_params["train_model"] in ("net 2", ["net 2"])


def test_a_link_to_the_open_page_changes_its_view(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        first = w.maps.points(1)
        w.maps.add(
            corpus_id=1, model_id=1, name="older", config={}, seed=0, digest="p2", faithfulness=0.5, sampled_from=72,
            points=first,
        )  # fmt: skip
    drawn = ended(filled_store, "project", {"corpus": CORPUS}, {"map": MAP})
    at = open_page("map", map="older")
    at.session_state["followed_jobs"] = [drawn]
    at.run()
    assert choice(at, "map_map").value == "older"
    at.button(key=f"open-{drawn}").click().run()
    assert choice(at, "map_map").value == MAP


def test_the_tray_notices_a_job_that_ended_before_it_looked_again(
    filled_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    reruns: list[bool] = []
    monkeypatch.setattr(job_tray.st, "session_state", {})
    monkeypatch.setattr(job_tray.st, "rerun", lambda: reruns.append(True))
    job_tray._live(("find-themes",))
    assert not reruns
    ended(filled_store, "find-themes", {"corpus": CORPUS}, {})
    job_tray._live(("find-themes",))
    assert reruns
