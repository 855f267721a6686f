"""What an import of labels or of a REFI-QDA project finds, leaves out and changes is told before it is imported."""

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.jobs.labelling.test_qda_of_other_programs import selection, written
from tests.webapp.filled import CORPUS
from tests.webapp.hands import plain_words_of, press
from themescope.db.store import Store
from themescope.webapp.features.coding import FILES as CODING_FILES

Open = Callable[..., AppTest]


def texts(store: Store) -> list[str]:
    """The sentences of the article Danube."""
    with store.reading() as r:
        article = r.corpora.articles_by_title(r.corpora.by_name(CORPUS).id, "Danube")[0]
        return [sentence.text for sentence in r.corpora.sentences(article.id)]


def test_passages_of_a_project_are_counted_and_listed(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    found = texts(filled_store)
    text = "\n".join(found)
    inner = selection(0, len(found[0]), 1) + selection(0, 2, 2) + selection(90_000, 90_009, 2)
    source = f'<TextSource name="Danube" plainTextPath="internal://t.txt">{inner}</TextSource>'
    source += '<PictureSource name="map"/>'
    path = written(tmp_path / "study.qdpx", source, text)
    at = open_page("import", corpus=CORPUS)
    uploaded = (path.name, path.read_bytes(), "application/octet-stream")
    at.file_uploader(key="texts_import_files_0").set_value(uploaded).run()
    assert not at.exception and "1 text and 1 of 3 passages found here, 1 in part" in plain_words_of(at)
    listed = at.dataframe[-1].value.to_numpy().tolist()
    assert ["picture", "map", ""] in listed and ["passage found in part", "Danube, 0–2", f"Train: {text[:2]}"] in listed
    press(at, "Add the codings")
    with filled_store.reading() as r:
        assert "Study" in [record.name for record in r.labellings.list()]


def test_rows_with_several_labels_and_without_a_sentence_are_listed(filled_store: Store, open_page: Open) -> None:
    first, second, *_ = texts(filled_store)
    rows = [(first.upper(), '["river", "water"]', "done"), (second, "[]", "done"), ("x", "NA", "")]
    content = "text\tlabel\tstatus\n" + "".join("\t".join(row) + "\n" for row in rows)
    at = open_page("code", view=CODING_FILES)
    at.file_uploader(key="code_import_file").set_value(("labels.tsv", content.encode(), "text/plain")).run()
    shown = plain_words_of(at)
    assert not at.exception and "1 unit with several codes, all of which are kept" in shown
    assert "1 × “NA” is read as unassigned" in shown and "1 row matches no unit" in shown
    assert "Rows to correct as CSV" in [button.proto.label for button in at.get("download_button")]


def test_annotators_of_a_table_become_labellings(filled_store: Store, open_page: Open) -> None:
    first, second, *_ = texts(filled_store)
    rows = [(first, "river", "water"), (second, "river", "river")]
    content = "text\tada\tbea\n" + "".join("\t".join(row) + "\n" for row in rows)
    at = open_page("code", view=CODING_FILES)
    at.file_uploader(key="code_import_file").set_value(("labels.tsv", content.encode(), "text/plain")).run()
    assert "Each annotator has a coding. 1 unit with different codes" in plain_words_of(at)
    press(at, "Import labels")
    with filled_store.reading() as r:
        assert {"labels (ada)", "labels (bea)"} <= {record.name for record in r.labellings.list()}
