"""Clusters of the article that is read: the button, the job, the coloured sentences, and where they lead."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.db import texts
from tests.db.texts import add_list
from tests.webapp.filled import CORPUS, HOSTILE, MODEL
from tests.webapp.hands import press
from themescope.core.records.stored import ArticleRecord
from themescope.core.types import Split
from themescope.db.store import Store
from themescope.webapp.features.texts import articles

Open = Callable[..., AppTest]


def reader(at: AppTest) -> dict[str, object]:
    (found,) = [e.proto for e in at.get("bidi_component") if e.proto.component_name == "themescope_reader"]
    return dict(json.loads(found.json))


def nile(store: Store) -> ArticleRecord:
    with store.reading() as r:
        (article,) = r.corpora.articles_by_title(r.corpora.by_name(CORPUS).id, "Nile")
    return article


@pytest.fixture
def clustered(filled_store: Store) -> Store:
    """The filled store with two clusters of the article "Nile"."""
    article = nile(filled_store)
    with filled_store.writing() as w:
        corpus, model = w.corpora.by_name(CORPUS), w.models.by_name(MODEL)
        ids = np.array([s.id for s in w.corpora.sentences(article.id)])
        labels = (np.arange(len(ids)) % 2).astype(np.int32)
        themes = [{"name": name, "words": [], "size": 12, "central": ids[:2].tolist()} for name in (HOSTILE, "two")]
        config = {"corpus_id": corpus.id, "article": article.id, "title": "Nile", "themes": themes, "settings": {}}
        w.runs.add(
            kind="themes", digest="n1", model_id=model.id, clusterer="iclust", config=config,
            assignments={article.id: labels}, margins={Split.TEST: (ids, np.ones(len(ids), np.float32))},
        )  # fmt: skip
    return filled_store


def test_one_click_queues_the_job(filled_store: Store, open_page: Open) -> None:
    at = press(open_page("texts", corpus=CORPUS, view="Read", article="Nile"), "Find themes in this text")
    with filled_store.reading() as r:
        job = r.jobs.newest("find-themes")
    assert job is not None and job.args["article"] == nile(filled_store).id and "Nile" in job.title
    assert not at.exception and not any(b.label == "Find themes in this text" for b in at.button)


@pytest.mark.parametrize(("reader", "offered"), [("table", False), ("plain-text", True)])
def test_rows_of_a_table_are_not_clustered_as_a_text(
    reader: str, offered: bool, filled_store: Store, open_page: Open
) -> None:
    add_list(filled_store, "answers", reader=reader)
    at = open_page("texts", corpus="answers", view="Read")
    assert not at.exception and any(b.label == "Find themes in this text" for b in at.button) is offered
    assert any(t.label == "Use the order of the sentences" for t in at.toggle) is offered


def test_the_browser_gets_a_part_of_a_long_text(
    filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled_store.writing() as w:
        corpus = w.corpora.create("long", "en")
        w.corpora.add_articles(corpus.id, [texts.article("long", sections=3, paragraphs=700, sentences=1)])
        w.corpora.finish(corpus.id, {"readers": ["plain-text"]})
        (of_text,) = w.corpora.articles(corpus.id)
        every = w.corpora.sentences(of_text.id)

    def drawn(at: AppTest) -> list[dict[str, object]]:
        assert not at.exception
        data = reader(at)
        return [s for part in data["sections"] for p in part["paragraphs"] for s in p]  # type: ignore[attr-defined]

    at = open_page("texts", corpus="long", view="Read")
    assert [s["text"] for s in drawn(at)] == [s.text for s in every[:1000]]
    at.number_input(key=f"texts_part_{of_text.id}").set_value(3).run()
    assert [s["text"] for s in drawn(at)] == [s.text for s in every[2000:]] and len(reader(at)["sections"]) == 1  # type: ignore[arg-type]
    with monkeypatch.context() as fewer:  # as when the text has become shorter meanwhile
        fewer.setattr(articles, "_PART", 1500)
        assert [s["text"] for s in drawn(at.run())] == [s.text for s in every[1500:]]
    at.text_input(key="texts_find_in_text").set_value("2.69").run()
    assert 0 < len(drawn(at)) < 100 and all("2.69" in str(s["text"]) for s in drawn(at))
    focus = every[1500]
    at = open_page("texts", corpus="long", view="Read", article="long", sentence=str(focus.id))
    assert [s["text"] for s in drawn(at) if s.get("focus")] == [focus.text] and len(drawn(at)) == 1000


def test_sentences_have_the_clusters_of_the_legend(clustered: Store, open_page: Open) -> None:
    at = open_page("texts", corpus=CORPUS, view="Read", article="Nile")
    data = reader(at)
    assert [entry["name"] for entry in data["legend"]] == [HOSTILE, "two"]  # type: ignore[attr-defined]
    found = [s["cluster"] for part in data["sections"] for p in part["paragraphs"] for s in p]  # type: ignore[attr-defined]
    assert found == [0, 1] * 12
    next(t for t in at.toggle if t.label == "Show 2 themes").set_value(False).run()
    assert reader(at)["legend"] == []


def test_they_open_in_relabel_once(clustered: Store, open_page: Open) -> None:
    for _ in range(2):
        at = press(open_page("texts", corpus=CORPUS, view="Read", article="Nile"), "Open in Code")
        assert not at.exception and at.session_state["code_labelling"] == "Nile"
    with clustered.reading() as r:
        (record,) = r.labellings.list()
        assert len(r.labellings.snapshot(record.id).partition.clusters) == 2
