"""Labels from a table, on the Relabel page: what fits is shown before anything begins."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS
from tests.webapp.hands import plain_words_of
from themescope.db.store import Store
from themescope.jobs.services.table_files import csv_text

Open = Callable[..., AppTest]


@pytest.fixture
def texts(filled_store: Store) -> list[str]:
    """The sentences of the corpus that only one sentence says."""
    with filled_store.reading() as r:
        ids = r.corpora.sentence_ids(r.corpora.by_name(CORPUS).id)
        found = [s.text for s in r.corpora.sentences_by_id(ids).values()]
    return [text for text in found if found.count(text) == 1]


def test_a_table_is_looked_at_and_begun_with(filled_store: Store, texts: list[str], open_page: Open) -> None:
    rows = [(texts[0], "One"), (texts[1], "Two"), ("nobody says this", "Two")]
    at = open_page("relabel", view="New labelling")
    data = csv_text(("sentence", "cluster"), rows).encode()
    at.file_uploader(key="relabel_import_file").set_value(("mine.csv", data, "text/csv")).run()
    assert not at.exception
    assert "2 rows match 2 sentences" in plain_words_of(at).replace("**", "")
    assert "1 not found" in plain_words_of(at) and "1 row matches no sentence" in plain_words_of(at)
    begin = next(x for x in at.button if x.label == "Import labels")
    assert begin.disabled
    next(x for x in at.checkbox if x.label.startswith("Skip this row")).check().run()
    next(x for x in at.button if x.label == "Import labels").click().run()
    with filled_store.reading() as r:
        (record,) = [x for x in r.labellings.list() if x.name == "mine"]
        now = r.labellings.snapshot(record.id).partition
    assert sorted(c.name for c in now.clusters.values()) == ["One", "Two"]
    assert sum(now.sizes()[number] for number in now.clusters) == 2


def test_a_file_that_is_no_table_is_said(filled_store: Store, open_page: Open) -> None:
    at = open_page("relabel", view="New labelling")
    at.file_uploader(key="relabel_import_file").set_value(("mine.xlsx", b"PK\x03\x04 no excel", "")).run()
    assert not at.exception
    assert "damaged" in plain_words_of(at)
