"""What an import of labels or of a REFI-QDA project finds, leaves out and changes is told before it is imported."""

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.jobs.labelling.test_codebook_files import selection, written
from tests.webapp.filled import CORPUS
from tests.webapp.hands import plain_words_of, press
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import files, starts

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
    at = chosen(open_page, path.name, path.read_bytes())
    assert not at.exception and "1 text and 1 of 3 passages found here, 1 in part" in plain_words_of(at)
    listed = at.dataframe[-1].value.to_numpy().tolist()
    assert ["map", "", "", "picture"] in listed
    assert ["Danube, 0–2", f"Train: {text[:2]}", "", "passage found in part"] in listed
    press(at, "Add the codings")
    with filled_store.reading() as r:
        assert "Study" in [record.name for record in r.labellings.list()]


def test_rows_with_several_labels_and_without_a_sentence_are_listed(filled_store: Store, open_page: Open) -> None:
    first, second, *_ = texts(filled_store)
    rows = [(first.upper(), '["river", "water"]', "done"), (second, "[]", "done"), ("x", "NA", "")]
    content = "text\tlabel\tstatus\n" + "".join("\t".join(row) + "\n" for row in rows)
    at = chosen(open_page, "labels.tsv", content.encode())
    shown = plain_words_of(at)
    assert not at.exception and "1 with several codes" in shown and "1 × “NA” is read as no code" in shown
    assert at.dataframe[-1].value.to_numpy().tolist() == [["row 4", "x", "", "no sentence has this text"]]
    assert "List as CSV" in [button.proto.label for button in at.get("download_button")]


def test_annotators_of_a_table_become_labellings(filled_store: Store, open_page: Open) -> None:
    first, second, *_ = texts(filled_store)
    rows = [(first, "river", "water"), (second, "river", "river")]
    content = "text\tada\tbea\n" + "".join("\t".join(row) + "\n" for row in rows)
    at = chosen(open_page, "labels.tsv", content.encode())
    assert "2 annotators · 1 differing" in plain_words_of(at)
    press(at, "Add the codings")
    with filled_store.reading() as r:
        assert {"labels (ada)", "labels (bea)"} <= {record.name for record in r.labellings.list()}


def test_a_table_that_is_not_recognised_has_codes_if_a_person_says_so(filled_store: Store, open_page: Open) -> None:
    """Most of its rows are units of another project, and the codes stand in a column of any name."""
    first, second, *_ = texts(filled_store)
    rows = [
        (first, "a", "x"),
        (second, "b", "x"),
        ("Rents are high.", "a", "y"),
        ("Trains are late.", "b", "y"),
        ("", "", ""),
    ]
    content = "answer,what,other\n" + "".join(
        ",".join(f'"{cell}"' for cell in row) + "\n" for row in [*rows, *rows[2:]]
    )
    at = chosen(open_page, "answers.csv", content.encode())
    press(at, f"These are codes of “{CORPUS}”")
    choose(at, "Code column", "what"), choose(at, "Unit column", "answer")
    press(at, "Add the codings")
    with filled_store.reading() as r:
        (made,) = r.labellings.list()
        assert {c.name for c in r.labellings.clusters(made.id).values()} == {"a", "b"} and made.sentences == 72


def test_a_coding_is_imported_with_its_history(filled_store: Store, open_page: Open) -> None:
    made = starts.begin(filled_store, NewLabelling(1, "mine", "lea"), starts.from_sections)
    lines = files.export_lines(filled_store, made.id).encode()
    at = chosen(open_page, "mine.jsonl", lines)
    assert "Coding with its history** for *Rivers*" in plain_words_of(at)
    press(at, "Add the codings")
    with filled_store.reading() as r:
        assert [(one.name, one.owner) for one in r.labellings.list()] == [("mine", "lea"), ("mine 2", "lea")]


def chosen(open_page: Open, name: str, content: bytes) -> AppTest:
    """The page Import with a file."""
    at = open_page("import", corpus=CORPUS)
    return at.file_uploader(key="texts_import_files_0").set_value((name, content, "application/octet-stream")).run()


def choose(at: AppTest, label: str, value: str) -> None:
    """Choose a value of the field with a label."""
    next(field for field in at.selectbox if field.label == label).set_value(value).run()
