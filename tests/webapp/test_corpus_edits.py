"""The menu that edits a document, and the history of edits."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS
from tests.webapp.hands import press
from tests.webapp.test_article_clusters import nile
from themescope.db.store import Store
from themescope.jobs.services import corpus_edits

Open = Callable[..., AppTest]


def test_a_text_is_corrected_and_the_correction_undone(filled_store: Store, open_page: Open) -> None:
    at = open_page("corpora", corpus=CORPUS, view="Read", article="Nile")
    at.session_state["corpora_edit"] = True
    at.run()
    (text,) = [area for area in at.text_area if area.label == "Corrected text"]
    before = text.value
    text.set_value("The Nile is long.").run()
    at = press(at, "Correct text")
    assert not at.exception
    with filled_store.reading() as r:
        (edit,) = r.corpus_edits.list(nile(filled_store).corpus_id)
    assert (edit.before, edit.after) == (before, "The Nile is long.")
    listed = press(open_page("corpora", corpus=CORPUS, view="All projects", details=CORPUS), "Undo")
    assert not listed.exception
    with filled_store.reading() as r:
        (edit,) = r.corpus_edits.list(nile(filled_store).corpus_id)
        assert r.corpora.sentences_by_id([edit.sentence_id])[edit.sentence_id].text == before and edit.undone


def test_every_page_opens_after_a_document_was_removed(filled_store: Store, open_page: Open) -> None:
    article = nile(filled_store)
    corpus_edits.remove_articles(filled_store, article.corpus_id, [article.id], "")
    for page in ("corpora", "map", "themes", "relabel", "codebook", "tasks", "agreement", "estimates", "triplets",
                 "compare", "search", "errors"):  # fmt: skip
        at = open_page(page, corpus=CORPUS)
        assert not at.exception, page
    read = open_page("corpora", corpus=CORPUS, view="Read", article="Nile")
    assert not any(header.value == "Nile" for header in read.header)
