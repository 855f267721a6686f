"""The page Texts: what is read, themes of one text, columns, edits and their history."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.text_format import MessageToString
from streamlit.testing.v1 import AppTest

from tests.db.texts import add_list, add_texts, article
from tests.webapp.columned import add_columns
from tests.webapp.filled import CORPUS, HOSTILE, add_themes
from tests.webapp.hands import Open, jobs_of, press, sent
from themescope.db.store import Store
from themescope.jobs.common.columns import waves_of
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import corpus_edits
from themescope.webapp.features.texts import articles

READER = "themescope_reader"
NILE = 2  # the id of the article


def drawn(at: AppTest) -> list[dict[str, Any]]:
    return [s for part in sent(at, READER)["sections"] for paragraph in part["paragraphs"] for s in paragraph]


def test_one_click_queues_the_job(filled_store: Store, open_page: Open) -> None:
    at = press(open_page("texts", corpus=CORPUS, view="Read", article="Nile"), "Find themes in this text")
    assert [args["article"] for args in jobs_of(filled_store, "find-themes")] == [NILE]
    assert not any(b.label == "Find themes in this text" for b in at.button)


@pytest.mark.parametrize(("reader", "offered"), [("table", False), ("plain-text", True)])
def test_rows_of_a_table_are_not_clustered(reader: str, offered: bool, filled_store: Store, open_page: Open) -> None:
    add_list(filled_store, "answers", reader=reader)
    at = open_page("texts", corpus="answers", view="Read")
    assert any(b.label == "Find themes in this text" for b in at.button) is offered
    assert any(t.label == "Use the order of the sentences" for t in at.toggle) is offered


def test_browsers_get_part_of_long_texts(filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled_store.writing() as w:
        long = article("long", sections=3, paragraphs=700, sentences=1)
        corpus, _ = add_texts(w, "long", [long], readers=["plain-text"])
        (of_text,) = w.corpora.articles(corpus)
        every = w.corpora.sentences(of_text.id)
    at = open_page("texts", corpus="long", view="Read")
    assert [s["text"] for s in drawn(at)] == [s.text for s in every[:1000]]
    at.number_input(key=f"texts_part_{of_text.id}").set_value(3).run()
    assert [s["text"] for s in drawn(at)] == [s.text for s in every[2000:]] and len(sent(at, READER)["sections"]) == 1
    with monkeypatch.context() as fewer:  # as when the text has become shorter meanwhile
        fewer.setattr(articles, "_PART", 1500)
        assert [s["text"] for s in drawn(at.run())] == [s.text for s in every[1500:]]
    at.text_input(key="texts_find_in_text").set_value("2.69").run()
    assert 0 < len(drawn(at)) < 100 and all("2.69" in str(s["text"]) for s in drawn(at))
    focus = every[1500]
    at = open_page("texts", corpus="long", view="Read", article="long", sentence=str(focus.id))
    assert [s["text"] for s in drawn(at) if s.get("focus")] == [focus.text] and len(drawn(at)) == 1000


def test_themes_of_a_text_colour_it_and_open_in_code_once(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        add_themes(w, 1, "n1", (HOSTILE, "two"), [0, 1] * 12, article=NILE, title="Nile")
    at = open_page("texts", corpus=CORPUS, view="Read", article="Nile")
    assert [entry["name"] for entry in sent(at, READER)["legend"]] == [HOSTILE, "two"]
    assert [sentence["cluster"] for sentence in drawn(at)] == [0, 1] * 12
    next(t for t in at.toggle if t.label == "Show 2 themes").set_value(False).run()
    assert sent(at, READER)["legend"] == []
    for _ in range(2):
        at = press(open_page("texts", corpus=CORPUS, view="Read", article="Nile"), "Open in Code")
        assert at.session_state["code_labelling"] == "Nile"
    with filled_store.reading() as r:
        (record,) = r.labellings.list()
        assert len(r.labellings.snapshot(record.id).partition.clusters) == 2


def test_a_text_is_corrected_and_the_correction_undone(filled_store: Store, open_page: Open) -> None:
    at = open_page("texts", corpus=CORPUS, view="Read", article="Nile")
    at.session_state["texts_edit"] = True
    at.run()
    (text,) = [area for area in at.text_area if area.label == "Corrected text"]
    before = text.value
    text.set_value("The Nile is long.").run()
    at = press(at, "Correct text")
    with filled_store.reading() as r:
        (edit,) = r.corpus_edits.list(1)
    assert (edit.before, edit.after) == (before, "The Nile is long.")
    press(open_page("texts", corpus=CORPUS, view="Edits"), "Undo")
    with filled_store.reading() as r:
        (edit,) = r.corpus_edits.list(1)
        assert r.corpora.sentences_by_id([edit.sentence_id])[edit.sentence_id].text == before and edit.undone


def test_a_removed_wave_is_gone_until_its_button_is_used(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "more.csv"
    file.write_text("text,party\n" + "The dam holds the lake.,C\nA boat sails.,D\n", encoding="utf-8")
    args = {"files": [str(file)], "corpus": CORPUS, "wave": "spring", "settings": {"rows": "sentences"}}
    run_here(filled_store, "append-corpus", args, quiet=True)

    def shown() -> list[str]:
        at = open_page("texts", view="Import report", corpus=CORPUS)
        table = next((t.value for t in at.dataframe if "Missing" in t.value), None)
        return [] if table is None else table["Column"].tolist()

    assert shown() == ["wave", "party", "row"]
    at = open_page("texts", corpus=CORPUS, view="Read", article="more")
    assert "Undo" not in {button.label for button in at.button}
    at.session_state["texts_edit"] = True
    at = press(press(at.run(), "Remove spring …"), "Remove")
    assert "spring" not in str([box.options for box in at.selectbox]) and shown() == []
    read = open_page("texts", corpus=CORPUS, view="Read")
    assert "wave “spring” removed\\: 2 sentences" in [element.value for element in read.markdown]
    press(read, "Undo")
    with filled_store.reading() as r:
        assert [w["name"] for w in waves_of(r.corpora.get(1))] == ["wave 1", "spring"]
    assert shown() == ["wave", "party", "row"]


def test_every_page_opens_after_a_document_was_removed(filled_store: Store, open_page: Open) -> None:
    corpus_edits.remove_articles(filled_store, 1, [NILE], "")
    of_studies = ("code", "codebook", "tasks", "agreement", "estimates", "errors")
    for page in ("map", "themes", "triplets", "compare", *of_studies):
        open_page(page, corpus=CORPUS)
    read = open_page("texts", corpus=CORPUS, view="Read", article="Nile")
    assert not any(header.value == "Nile" for header in read.header)


PAGES = {"texts": {"view": "Import report"}, "themes": {}, "code": {"labelling": "mine", "view": "Label the rest"}}


def said(at: AppTest) -> str:
    """All that a page shows: texts, labels, options and tables."""
    tables = [element.value.to_string() for element in at.dataframe]
    return " ".join([*(MessageToString(e.proto, as_utf8=True) for e in at.main if getattr(e, "proto", None)), *tables])


def test_no_page_names_a_removed_wave(waved: Store, open_page: Open) -> None:
    """It is named where what was removed can be undone, and nowhere else."""
    with waved.reading() as r:
        corpus = r.corpora.by_name("C")
    found = [said(open_page(page, corpus="C", **view)) for page, view in PAGES.items()]
    assert [page for page, text in zip(PAGES, found, strict=True) if "spring" in text] == [*PAGES]
    corpus_edits.remove_wave(waved, corpus.id, "spring", "ann")
    for page, view in PAGES.items():
        text = said(open_page(page, corpus="C", **view))
        assert "spring" not in text.replace("wave “spring” removed", ""), page


def test_corpora_and_articles_show_their_columns(filled_store: Store, open_page: Open) -> None:
    add_columns(filled_store)
    at = open_page("texts", view="Import report", corpus=CORPUS)
    overview = next(table.value for table in at.dataframe if "Missing" in table.value)
    assert overview["Column"].tolist() == ["note", "side", "score", "day"]
    assert overview["Values"].tolist()[2:] == ["1 … 71", "1970-01-01 … 1970-03-13"]
    at = open_page("texts", corpus=CORPUS, article="Nile")
    assert any("note: **note 1**" in element.value for element in at.markdown)
    sentences = next(table.value for table in at.dataframe if "score" in table.value)
    assert sentences["day"].tolist()[0] == "1970-01-25" and "<b>*centre*</b>" in sentences["side"].tolist()
