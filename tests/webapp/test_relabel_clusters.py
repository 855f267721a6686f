"""Layout Clusters of the page Code, re-clustering of a part and schemes: all in steps that can be undone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import MODEL
from tests.webapp.hands import words_of
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.db.label_records import NewLabelling
from themescope.db.records import VectorBlock
from themescope.db.store import Store
from themescope.jobs.services import search as inference
from themescope.jobs.services.labelling import starts
from themescope.webapp.features.coding import MERGES, OUTLIERS, queries, sentences
from themescope.webapp.features.coding.actions import dispatch
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.toolbar import toolbar_data, tree_data
from themescope.webapp.shared.text import count

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


def test_clusters_are_chosen_grouped_and_moved_out(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    first = stored(filled_store, labelling)
    at = open_page("code", layout="Clusters")
    assert "Click a cluster to read" in words_of(at)
    at = send(at, labelling, "choose_clusters", on=[2, 3], off=[])
    assert f"**{first.clusters[3].name}**" in words_of(at) and "Most similar clusters" in words_of(at)
    at = send(at, labelling, "group")
    assert at.multiselect[0].value == [2, 3]
    next(box for box in at.text_input if box.label == "Name of the theme").set_value("The river").run()
    at = click(at, "Group clusters")
    now = stored(filled_store, labelling)
    theme = next(n for n, c in now.clusters.items() if c.name == "The river")
    assert {n for n, c in now.clusters.items() if c.parent == theme} == {2, 3}
    rows = tree_data(state_of(at, labelling), {})["rows"]
    assert [row["number"] for row in rows[-3:]] == [theme, 2, 3] and rows[-3]["parts"] == 2
    assert rows[-3]["count"].startswith("2 sub-themes · 0 of")
    state = state_of(at, labelling)
    state.clusters.numbers = (theme,)
    shown = sentences.in_view(state, sentences.CHOSEN)
    assert sorted(shown) == sorted([*now.members(2), *now.members(3)])
    at = send(at, labelling, "put_under", clusters=[1], theme=2)  # dropped on a sub-theme
    assert stored(filled_store, labelling).clusters[1].parent == theme
    at = send(at, labelling, "put_under", clusters=[1, 2], theme=-1)
    assert stored(filled_store, labelling).clusters[2].parent is None
    at = send(at, labelling, "move_out")
    assert stored(filled_store, labelling).clusters[3].parent == theme  # the chosen cluster is a theme
    at = send(at, labelling, "choose_clusters", on=[3], off=[theme])
    at = send(at, labelling, "move_out")
    assert {c.parent for c in stored(filled_store, labelling).clusters.values()} == {None}
    for _ in range(4):
        at = send(at, labelling, "undo")
    assert stored(filled_store, labelling).to_bytes() == first.to_bytes()


def test_suggested_merges_are_accepted_or_dismissed(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = open_page("code", layout="Clusters", clusters=MERGES)
    state = state_of(at, labelling)
    pair = state.clusters.pair
    assert pair is not None and "Between them" in words_of(at) and "the highest of the pairs" in words_of(at)
    (group,) = [g for g in toolbar_data(state)["groups"] if g["title"] == "Suggestion"]
    assert [a["name"] for a in group["actions"]] == ["merge_pair", "dismiss"]
    assert all(tuple(a["about"]["pair"]) == pair for a in group["actions"])
    at = send(at, labelling, "dismiss", pair=list(pair))
    assert state.clusters.pair != pair
    at = send(at, labelling, "undo")
    assert state.clusters.pair == pair
    before = stored(filled_store, labelling)
    at = send(at, labelling, "merge_pair", pair=list(pair))
    assert len(stored(filled_store, labelling).clusters) == len(before.clusters) - 1
    at = send(at, labelling, "merge_pair", pair=list(pair))  # a key that was pressed twice
    assert len(stored(filled_store, labelling).clusters) == len(before.clusters) - 1
    while state.clusters.pair is not None:
        at = send(at, labelling, "dismiss", pair=list(state.clusters.pair))
    assert "No merges to suggest" in words_of(at)
    send(at, labelling, "merge_pair", pair=None)
    assert len(stored(filled_store, labelling).clusters) == len(before.clusters) - 1
    state.select(state.partition.ids[:2], "in the table")
    done = len(state.session.steps)
    send(at, labelling, "dismiss", pair=None)
    assert len(state.session.steps) == done, "the selection is nothing that this view suggests"


def test_outliers_are_left_unassigned_or_gathered(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = open_page("code", layout="Clusters", clusters=OUTLIERS)
    state = state_of(at, labelling)
    found = queries.densities(state)
    assert found is not None
    far = int(found[0][int(found[1].argmin())])
    frame = at.dataframe[0].value
    number = len(frame)
    assert {*frame["By"]} == {"sections (machine)"}
    assert frame["Sentence"].iloc[0] == state.session.texts[far] and f"{count(number, 'outlier')}." in words_of(at)
    at = click(at, "Select all")
    assert far in state.selected and len(state.selected) == number
    at = send(at, labelling, "unassign")
    assert len(stored(filled_store, labelling).members(UNASSIGNED)) == number
    at = send(at, labelling, "undo")
    at = click(at, "Select all")
    at = send(at, labelling, "dismiss", pair=None)
    assert f"0 outliers, without {number} that were left in place" in words_of(at)
    send(at, labelling, "dismiss", pair=None)  # nothing is selected
    assert len(state.session.steps) == 3


def test_one_cluster_is_re_clustered_and_named_and_the_rest_is_kept(
    filled_store: Store, labelling: LabellingRecord, open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(type(filled_store.artifacts), "path", lambda *_: tmp_path)  # a model without a calibration
    before = stored(filled_store, labelling)
    at = open_page("code")
    state_of(at, labelling).select(before.members(2)[:1], "in the table")
    at = send(at, labelling, "recluster")
    at.number_input[0].set_value(3).run()
    next(box for box in at.text_input if box.label.startswith("Cluster 2 ·")).set_value("Second part").run()
    at = click(at, "Divide into 3 clusters")
    now = stored(filled_store, labelling)
    assert len(now.clusters) == len(before.clusters) + 2 and "Second part" in {c.name for c in now.clusters.values()}
    outside = before.numbers != 2
    assert np.array_equal(now.numbers[outside], before.numbers[outside]) and now.clusters[2] == before.clusters[2]
    at = send(at, labelling, "undo")
    assert stored(filled_store, labelling).to_bytes() == before.to_bytes()
    state_of(at, labelling).select(before.ids[:6], "in the table")
    at = send(at, labelling, "recluster")
    next(group for group in at.button_group if group.label == "Number of clusters").set_value("Suggested").run()
    assert not at.exception and ("probably between" in words_of(at))
    for name in ("Unassigned", "All others"):
        next(group for group in at.button_group if group.label == "Re-cluster").set_value(name).run()
        assert not at.exception
    assert "Nobody has placed a sentence yet" in words_of(at)


def test_suggestions_on_a_large_labelling_are_based_on_a_sample(
    filled_store: Store, labelling: LabellingRecord, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "MOST_WITH_VECTORS", 20)
    monkeypatch.setattr(queries, "MOST_WITH_VECTORS", 20)
    at = open_page("code", layout="Clusters", clusters=MERGES)
    state = state_of(at, labelling)
    assert state.model is None and state.clusters.pair is not None
    assert "Based on a random sample of 20 sentences" in words_of(at)
    at = open_page("code", layout="Clusters", clusters=OUTLIERS)
    assert not at.exception and "Based on a random sample of 20 sentences" in words_of(at)
    state = state_of(at, labelling)
    state.select(state.partition.members(2), "in the table")
    at = send(at, labelling, "recluster")
    click(at, "Divide into 2 clusters")
    assert len(stored(filled_store, labelling).clusters) == len(state.partition.clusters)


def test_blind_work_shows_no_suggestions(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.labellings.share(labelling.id, Sharing.OWN, True, "")
    at = open_page("code", layout="Clusters")
    (views,) = [group for group in at.button_group if group.label == "Show"]
    assert views.options == ["Themes", "Questions"]
    assert "Most similar clusters" not in words_of(send(at, labelling, "choose_clusters", on=[1], off=[]))
