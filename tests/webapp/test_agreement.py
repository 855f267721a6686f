"""The Agreement page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import HOSTILE
from themescope.core.labelling import operations as op
from themescope.db.label_records import NewLabelling, Sharing
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.agreement import groups, results, state
from themescope.webapp.features.agreement.groups import Rater
from themescope.webapp.shared.text import count, score

Open = Callable[..., AppTest]


def words(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.text, at.info, at.warning, at.error)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


@pytest.fixture
def labelled(filled_store: Store) -> Store:
    """Two labellings of the Danube: by its sections, and with one section taken apart."""
    with filled_store.reading() as r:
        corpus = r.corpora.list()[0]
        article = r.corpora.articles(corpus.id)[0]
    for owner, name in (("ada", "Ada's"), ("ben", HOSTILE)):
        new = NewLabelling(corpus.id, name, owner, Sharing.OWN, False, article.id)
        record = starts.begin(filled_store, new, starts.from_sections)
        if owner == "ben":
            session = LabellingSession(filled_store, record.id, owner)
            session.do(op.assign(session.partition, session.partition.members(2)[:2], 3))
            session.do(op.rename(session.partition, 3, HOSTILE))
    return filled_store


def test_an_empty_store(sqlite_store: Store, open_page: Open) -> None:
    at = open_page("agreement")
    assert not at.exception
    assert "No labellings yet" in words(at)


def test_people_sections_and_models_side_by_side(labelled: Store, open_page: Open) -> None:
    at = open_page("agreement", counted=groups.ALL)
    assert not at.exception
    assert not at.error
    pairs = at.dataframe[0].value
    assert pairs["First"].tolist()[0] in ("Ada's", HOSTILE)
    row = pairs[(pairs["First"] == "Ada's") & (pairs["Second"] == "Sections")].iloc[0]
    assert row["ARI"] == "1.000"
    assert "Remark" not in pairs and "One article, so no intervals." in words(at)
    disputed = at.dataframe[2].value
    assert len(disputed) == 2
    next(b for b in at.button if b.label == "Create gold labelling").click().run()
    with labelled.reading() as r:
        gold = [x for x in r.labellings.list() if x.kind is Sharing.GOLD]
        found = r.labellings.snapshot(gold[0].id).partition
    assert found.uncertain.sum() == 2
    assert gold[0].origin["from"] == "adjudication"


def test_a_labelling_may_be_called_like_a_column(labelled: Store, open_page: Open) -> None:
    with labelled.writing() as w:
        w.labellings.rename(w.labellings.by_name("Ada's").id, "Sentence", "ada")
    at = open_page("agreement", counted=groups.ALL)
    disputed = next(d.value for d in at.dataframe if "Most probable" in d.value)
    assert "Sentence (2)" in disputed and disputed["Sentence"].str.len().min() > 20


def test_two_people_alone_are_taken_to_be_equally_reliable(labelled: Store, open_page: Open) -> None:
    said = words(open_page("agreement", counted=groups.ALL))
    assert "Undefined because two people alone do not show" in said
    assert "because undefined" not in said


def test_what_nobody_touched_is_no_agreement_of_people(labelled: Store, open_page: Open) -> None:
    at = open_page("agreement")
    assert not at.exception
    assert {m.label: m.value for m in at.metric} == {
        "Krippendorff's alpha": "undefined", "Sentences": "0", "Sentence pairs": "0",
    }  # fmt: skip
    pairs = at.dataframe[0].value.set_index(["First", "Second"])["Sentences"]
    assert pairs.to_dict()[HOSTILE, "Sections"] == 2 and pairs.to_dict()["Ada's", "Sections"] == 0
    assert "both people set themselves" in words(at) and groups.ALL in words(at)
    at.button_group(key=state.COUNTED).set_value(groups.ONE).run()
    assert {m.label: m.value for m in at.metric}["Sentences"] == "2"
    at.button_group(key=state.COUNTED).set_value(groups.ALL).run()
    assert {m.label: m.value for m in at.metric}["Sentences"] == "24"


def test_a_vote_counts_where_the_person_placed_the_sentence(labelled: Store, open_page: Open) -> None:
    at = open_page("agreement")
    next(b for b in at.button if b.label == "Create gold labelling").click().run()
    with labelled.reading() as r:
        (gold,) = [x for x in r.labellings.list() if x.kind is Sharing.GOLD]
        found = r.labellings.snapshot(gold.id).partition
        bens = r.labellings.snapshot(r.labellings.by_name(HOSTILE).id).partition
    assert not found.uncertain.any(), "Ada has placed nothing, so nothing is tied"
    moved = np.unique(found.numbers[np.isin(found.ids, bens.ids[bens.numbers == 3])])
    assert len(moved) == 1, "Ben's two sentences are with those that he put them to"


@pytest.mark.parametrize("which", [groups.BOTH, groups.ONE, groups.ALL])
def test_what_is_said_of_a_gold_labelling_is_true_of_it(labelled: Store, open_page: Open, which: str) -> None:
    with labelled.reading() as r:
        ada = r.labellings.by_name("Ada's")
    session = LabellingSession(labelled, ada.id, "ada")
    session.do(op.assign(session.partition, session.partition.members(1)[:1], 2))
    bens = starts.begin(
        labelled, NewLabelling(ada.corpus_id, "third", "ben", article_id=ada.article_id), starts.from_sections
    )
    session = LabellingSession(labelled, bens.id, "ben")
    session.do(op.assign(session.partition, session.partition.members(3)[:2], 1))
    at = open_page("agreement", counted=which)
    said = next(c.value for c in at.caption if c.value.startswith("Starts from"))
    next(b for b in at.button if b.label == "Create gold labelling").click().run()
    with labelled.reading() as r:
        (gold,) = [x for x in r.labellings.list() if x.kind is Sharing.GOLD]
        uncertain = int(r.labellings.snapshot(gold.id).partition.uncertain.sum())
    assert gold.origin["method"] == ("posterior" if "most probable clusters" in said else "majority")
    if gold.origin["method"] == "posterior":
        assert f"ARI with the true clusters is {score(gold.origin['expected_ari'])}," in said
        assert f"{count(uncertain, 'sentence')} without a clearly" in said


def test_blind_labellers_see_nothing_before_they_have_finished(labelled: Store, open_page: Open) -> None:
    with labelled.writing() as w:
        record = w.labellings.by_name("Ada's")
        w.labellings.share(record.id, Sharing.OWN, True, "ada")
    at = open_page("agreement")
    at.text_input(key="person").set_value("ada").run()
    assert "hidden until yours is finished" in words(at)
    assert not at.dataframe


def test_matched_clusters_stand_on_the_diagonal() -> None:
    first = Rater("a", np.array([1, 1, 1, 2, 2, -1], dtype=np.int32), {1: "x", 2: "x"})
    second = Rater("b", np.array([7, 7, 4, 4, 4, 4], dtype=np.int32), {7: "p", 4: "q"})
    table = results.contingency(first, second)
    assert table.to_numpy().tolist() == [[2, 1], [0, 2]]
    assert list(table.index) == ["x", "x (2)"]
    nothing = Rater("c", np.full(6, -1, dtype=np.int32), {})
    assert results.contingency(first, nothing).empty
    assert results.pair_row(first, nothing, np.ones(6, dtype=np.int64))[-1].startswith("undefined because")
