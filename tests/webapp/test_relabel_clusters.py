"""Clusters in Sort, suggestions about them, outliers and re-clustering of a part: all in steps that can be undone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import MODEL
from tests.webapp.hands import words_of
from tests.webapp.listed import listing
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.db.records import NewLabelling, VectorBlock
from themescope.db.store import Store
from themescope.jobs.services import search as inference
from themescope.jobs.services.labelling import starts
from themescope.webapp.features.coding import queries
from themescope.webapp.features.coding.actions import dispatch
from themescope.webapp.features.coding.editing import RelabelState

Open = Callable[..., AppTest]


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    """The Danube by its sections, shared, with vectors; one sentence is far from all others."""
    with filled_store.writing() as w:
        corpus = w.corpora.list()[0]
        articles = w.corpora.articles(corpus.id)
        model = w.models.by_name(MODEL)
        random = np.random.default_rng(0)
        blocks = []
        for article in articles:
            x = np.array([3.0, 0, 0, 0]) + random.normal(scale=0.3, size=(article.sentences, 4))
            x[0] = [-9.0, 0, 0, 9.0]
            blocks.append(VectorBlock(article.id, x.astype(np.float32)))
        w.embeddings.add(model.id, blocks)
    new = NewLabelling(corpus.id, "Danube", "", Sharing.SHARED, False, articles[0].id)
    return starts.begin(filled_store, new, starts.from_sections)


def state_of(at: AppTest, labelling: LabellingRecord) -> RelabelState:
    found: RelabelState = at.session_state[f"code_state_{labelling.id}"]
    return found


def send(at: AppTest, labelling: LabellingRecord, kind: str, **about: Any) -> AppTest:
    state = state_of(at, labelling)
    action = {"kind": kind, "number": state.acknowledged + 1, **about}
    dispatch(state, {"session": state.browser_session, "actions": [action]})
    found = at.run()
    assert not found.exception
    return found


def stored(store: Store, labelling: LabellingRecord) -> Partition:
    with store.reading() as r:
        return r.labellings.snapshot(labelling.id).partition


def click(at: AppTest, label: str) -> AppTest:
    found = next(button for button in at.button if button.label == label).click().run()
    assert not found.exception
    return found


def test_clusters_are_grouped_under_a_theme(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    first = stored(filled_store, labelling)
    at = open_page("code", cluster="2")
    assert listing(at)["open"] == 2 and listing(at)["head"]["title"] == first.clusters[2].name
    at = send(at, labelling, "group", cluster=2)
    assert at.multiselect[0].value == [2]
    at.multiselect[0].set_value([2, 3]).run()
    next(box for box in at.text_input if box.label == "Name of the theme").set_value("The river").run()
    at = click(at, "Group codes")
    now = stored(filled_store, labelling)
    theme = next(n for n, c in now.clusters.items() if c.name == "The river")
    assert {n for n, c in now.clusters.items() if c.parent == theme} == {2, 3}
    rows = listing(at)["clusters"]
    assert [(row["number"], row["level"]) for row in rows[-4:]] == [(theme, 1), (2, 2), (3, 2), (UNASSIGNED, 1)]
    at = open_page("code", cluster=str(theme))
    assert sorted(listing(at)["list"]["ids"]) == sorted([*now.members(2), *now.members(3)])
    send(at, labelling, "undo")
    assert stored(filled_store, labelling).to_bytes() == first.to_bytes()


def test_one_cluster_is_re_clustered_and_named_and_the_rest_is_kept(
    filled_store: Store, labelling: LabellingRecord, open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(type(filled_store.artifacts), "path", lambda *_: tmp_path)  # a model without a calibration
    before = stored(filled_store, labelling)
    at = open_page("code", cluster="2")
    at = send(at, labelling, "recluster", cluster=2, ids=[], was=0)
    at.number_input[0].set_value(3).run()
    next(box for box in at.text_input if box.label.startswith("Code 2 ·")).set_value("Second part").run()
    at = click(at, "Divide into 3 codes")
    now = stored(filled_store, labelling)
    assert len(now.clusters) == len(before.clusters) + 2 and "Second part" in {c.name for c in now.clusters.values()}
    outside = before.numbers != 2
    assert np.array_equal(now.numbers[outside], before.numbers[outside]) and now.clusters[2] == before.clusters[2]
    at = send(at, labelling, "undo")
    assert stored(filled_store, labelling).to_bytes() == before.to_bytes()
    state_of(at, labelling).select(before.ids[:6], "in the table")
    at = send(at, labelling, "recluster")
    next(group for group in at.button_group if group.label == "Number of codes").set_value("Suggested").run()
    assert not at.exception and ("probably between" in words_of(at))
    for name in ("No code", "All others"):
        next(group for group in at.button_group if group.label == "Split").set_value(name).run()
        assert not at.exception
    assert "Nobody has placed a unit yet" in words_of(at)


def test_units_of_a_large_labelling_are_divided(
    filled_store: Store, labelling: LabellingRecord, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "MOST_WITH_VECTORS", 20)
    monkeypatch.setattr(queries, "MOST_WITH_VECTORS", 20)
    at = open_page("code")
    state = state_of(at, labelling)
    assert state.model is None
    state.select(state.partition.members(2), "in the table")
    at = send(at, labelling, "recluster")
    click(at, "Divide into 2 codes")
    assert len(stored(filled_store, labelling).clusters) == len(state.partition.clusters)


def test_codes_and_units_are_opened_by_actions(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = send(open_page("code"), labelling, "open", cluster=3)
    assert listing(at)["open"] == 3 and at.query_params["code_cluster"] == "3"
    unit = int(state_of(at, labelling).partition.members(2)[-1])
    at = send(at, labelling, "goto", unit=unit)
    assert (listing(at)["open"], listing(at)["focused"], listing(at)["list"]["focus"]) == (2, unit, unit)
    at = send(at, labelling, "similar", ids=[unit], was=2)
    assert listing(at)["head"]["title"] == "Similar units" and listing(at)["list"]["ids"][0] == unit
    found = state_of(send(at, labelling, "open", cluster=2), labelling)
    shown = listing(open_page("code", cluster="2"))["list"]["ids"]
    assert found.suggestions is not None
    pull = found.suggestions.pull[found.partition.rows(np.array(shown))]
    assert (np.diff(pull) <= 0).all(), "those that the model would put elsewhere come first"
