"""Topics of BERTopic as labels; docs/other-tools.md has the example that makes them with the package."""

import json
from pathlib import Path

import pytest

from tests.jobs.helpers import only_plan
from themescope.core.errors import DataError, ReadError
from themescope.core.readers.tables import Sheet, read_sheet
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import files, starts, tables

TEXTS = ["Rivers flood.", "Streams run.", "An orchestra plays.", "Nothing fits."]
FRAME = """\
Document,Topic,Name,Representation,Representative_document
Rivers flood.,0,0_river_flood,"['river']",True
Streams run.,0,0_river_flood,"['river']",False
An orchestra plays.,12,12_play_,"['play']",True
Nothing fits.,-1,-1_nothing,"[]",False
"""


@pytest.fixture
def corpus(sqlite_store: Store) -> int:
    section = Section("", 1, (Paragraph("", tuple(TEXTS)),))
    with sqlite_store.writing() as w:
        record = w.corpora.create("C", "en")
        w.corpora.add_articles(record.id, [Article("C", (section,))])
        return w.corpora.finish(record.id, {}).id


def placed(store: Store, corpus: int, sheet: Sheet) -> dict[str, str]:
    """Text of each sentence → name of its cluster, after an import."""
    found = only_plan(store, corpus, None, sheet, tables.likely_columns(sheet))
    record = starts.begin(store, NewLabelling(corpus, "topics", "lea"), tables.from_plan(found, "documents.csv"))
    with store.reading() as r:
        partition = r.labellings.snapshot(record.id).partition
        texts = r.corpora.sentences_by_id(partition.ids)
    names = {number: cluster.name for number, cluster in partition.clusters.items()}
    return {
        texts[i].text: names.get(n, "") for i, n in zip(partition.ids.tolist(), partition.numbers.tolist(), strict=True)
    }


EXPECTED = dict(zip(TEXTS, ["river, flood", "river, flood", "play", ""], strict=True))


def test_the_table_of_documents(sqlite_store: Store, corpus: int, tmp_path: Path) -> None:
    file = tmp_path / "documents.csv"
    file.write_text(FRAME, "utf-8")
    assert placed(sqlite_store, corpus, files.as_labels(read_sheet(file))) == EXPECTED


def test_names_of_a_person_are_preferred_and_made_different(sqlite_store: Store, corpus: int) -> None:
    columns = ("Document", "Topic", "Name", "CustomName")
    rows = [(TEXTS[0], "0", "0_x", "Water"), (TEXTS[1], "1", "1_x", "Water"), (TEXTS[2], "2", "2_x", "")]
    sheet = files.as_labels(Sheet(columns, tuple(rows), numbers=(2, 3, 4)))
    assert sheet.column("cluster") == ["Water", "Water (1)", "topic 2"]
    other = Sheet(("sentence", "cluster"), (("x", "y"),))
    assert files.as_labels(other) is other


def write(folder: Path, **changes: object) -> Path:
    labels = {"-1": "-1_nothing", "0": "0_river_flood", "12": "12_play_"}
    content = {"topics": [0, 0, 12, -1], "topic_labels": labels, "custom_labels": None, **changes}
    (folder / files.TOPICS).write_text(json.dumps(content), "utf-8")
    return folder


def test_a_saved_model(sqlite_store: Store, corpus: int, tmp_path: Path) -> None:
    assert files.is_saved(write(tmp_path))
    assert placed(sqlite_store, corpus, files.saved_labels(sqlite_store, corpus, None, tmp_path)) == EXPECTED
    write(tmp_path, custom_labels=["Rest", "Water", "Music"])
    sheet = files.saved_labels(sqlite_store, corpus, None, tmp_path)
    assert sheet.column("cluster") == ["Water", "Water", "Music", ""]


def test_other_files_and_other_sentences_are_refused(sqlite_store: Store, corpus: int, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="3 documents, but there are 4 sentences"):
        files.saved_labels(sqlite_store, corpus, None, write(tmp_path, topics=[0, 0, 12]))
    for damaged in ({"topics": "x"}, {"topic_labels": []}, {"custom_labels": ["one"]}):
        with pytest.raises(ReadError, match="no topics of BERTopic"):
            files.saved_labels(sqlite_store, corpus, None, write(tmp_path, **damaged))
