"""The menu that edits a document, and the history of edits."""

from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.text_format import MessageToString
from streamlit.testing.v1 import AppTest

from tests.homes import CopyHome, MakeHome
from tests.jobs.test_kinds import do
from tests.jobs.test_placed_waves import fill_with_wave
from tests.webapp.filled import CORPUS
from tests.webapp.hands import press
from tests.webapp.test_article_clusters import nile
from themescope.db.store import Store
from themescope.jobs.common.columns import waves_of
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import corpus_edits

Open = Callable[..., AppTest]


def test_a_text_is_corrected_and_the_correction_undone(filled_store: Store, open_page: Open) -> None:
    at = open_page("texts", corpus=CORPUS, view="Read", article="Nile")
    at.session_state["texts_edit"] = True
    at.run()
    (text,) = [area for area in at.text_area if area.label == "Corrected text"]
    before = text.value
    text.set_value("The Nile is long.").run()
    at = press(at, "Correct text")
    assert not at.exception
    with filled_store.reading() as r:
        (edit,) = r.corpus_edits.list(nile(filled_store).corpus_id)
    assert (edit.before, edit.after) == (before, "The Nile is long.")
    listed = press(open_page("texts", corpus=CORPUS, view="Edits"), "Undo")
    assert not listed.exception
    with filled_store.reading() as r:
        (edit,) = r.corpus_edits.list(nile(filled_store).corpus_id)
        assert r.corpora.sentences_by_id([edit.sentence_id])[edit.sentence_id].text == before and edit.undone


def test_a_removed_wave_is_gone_from_the_page_and_comes_back_by_its_button(
    filled_store: Store, open_page: Open, tmp_path: Path
) -> None:
    file = tmp_path / "more.csv"
    file.write_text("text,party\n" + "The dam holds the lake.,C\nA boat sails.,D\n", encoding="utf-8")
    args = {"files": [str(file)], "corpus": CORPUS, "wave": "spring", "settings": {"rows": "sentences"}}
    run_here(filled_store, "append-corpus", args, quiet=True)
    corpus_id = nile(filled_store).corpus_id

    def shown() -> list[str]:
        at = open_page("texts", view="Import report", corpus=CORPUS)
        assert not at.exception
        table = next((t.value for t in at.dataframe if "Missing" in t.value), None)
        return [] if table is None else table["Column"].tolist()

    assert shown() == ["wave", "party", "row"]
    at = open_page("texts", corpus=CORPUS, view="Read", article="more")
    assert "Undo" not in {button.label for button in at.button}
    at.session_state["texts_edit"] = True
    at = press(press(at.run(), "Remove spring …"), "Remove")
    assert not at.exception and "spring" not in str([box.options for box in at.selectbox]) and shown() == []
    read = open_page("texts", corpus=CORPUS, view="Read")
    assert "wave “spring” removed\\: 2 sentences" in [element.value for element in read.markdown]
    assert not press(read, "Undo").exception
    with filled_store.reading() as r:
        assert [w["name"] for w in waves_of(r.corpora.get(corpus_id))] == ["wave 1", "spring"]
    assert shown() == ["wave", "party", "row"]


def test_every_page_opens_after_a_document_was_removed(filled_store: Store, open_page: Open) -> None:
    article = nile(filled_store)
    corpus_edits.remove_articles(filled_store, article.corpus_id, [article.id], "")
    for page in ("texts", "map", "themes", "code", "codebook", "tasks", "agreement", "estimates", "triplets",
                 "compare", "errors"):  # fmt: skip
        at = open_page(page, corpus=CORPUS)
        assert not at.exception, page
    read = open_page("texts", corpus=CORPUS, view="Read", article="Nile")
    assert not any(header.value == "Nile" for header in read.header)


@pytest.fixture(scope="module")
def placed(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")

    def fill(store: Store) -> None:
        fill_with_wave(store, folder)
        do(store, "place-wave", corpus="C")

    return make_home(fill)


PAGES = {"texts": {"view": "Import report"}, "themes": {}, "code": {"labelling": "mine", "view": "Label the rest"}}


def said(at: AppTest) -> str:
    """All that a page shows: texts, labels, options and tables."""
    tables = [element.value.to_string() for element in at.dataframe]
    return " ".join([*(MessageToString(e.proto, as_utf8=True) for e in at.main if getattr(e, "proto", None)), *tables])


def test_no_page_names_a_removed_wave(copy_home: CopyHome, placed: Path, open_page: Open) -> None:
    """It is named where what was removed can be undone, and nowhere else."""
    store = copy_home(placed)
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
    found = [said(open_page(page, corpus="C", **view)) for page, view in PAGES.items()]
    assert [page for page, text in zip(PAGES, found, strict=True) if "spring" in text] == [*PAGES]
    corpus_edits.remove_wave(store, corpus.id, "spring", "ann")
    for page, view in PAGES.items():
        at = open_page(page, corpus="C", **view)
        assert not at.exception, page
        text = said(at).replace("wave “spring” removed", "")
        at_ = text.find("spring")
        assert at_ < 0, (page, text[max(at_ - 300, 0) : at_ + 100])
