"""Datasets on the page Data: export with labels, download and import; and the import of several files at once."""

import shutil
from collections.abc import Callable
from pathlib import Path

import openpyxl
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS
from tests.webapp.hands import plain_words_of, press
from themescope.core.readers.formats import sample
from themescope.core.records.stored import JobStatus, Role
from themescope.core.types import UNREADABLE
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import people
from themescope.jobs.services.labelling import starts

Open = Callable[..., AppTest]


def queued(store: Store, kind: str) -> dict[str, object]:
    with store.reading() as r:
        (job,) = [job for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == kind]
    return dict(job.args)


def test_a_dataset_is_exported_with_labels_and_downloaded(filled_store: Store, open_page: Open) -> None:
    with filled_store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
    new = NewLabelling(corpus.id, "by section", "ada")
    name = starts.begin(filled_store, new, starts.from_sections).name
    at = open_page("texts", view="Bundle and dataset", corpus=CORPUS)
    labels = next(box for box in at.selectbox if box.label == "Labels")
    assert name in labels.options
    labels.select(name)
    at = press(at, "Create dataset")
    args = queued(filled_store, "export-dataset")
    assert (args["corpus"], args["labelling"], args["themes"], args["folder"]) == (CORPUS, name, False, "")
    run_here(filled_store, "export-dataset", args, quiet=True)
    at = open_page("texts", view="Bundle and dataset", corpus=CORPUS)
    assert not at.exception and "sentences; deleted after a week" in plain_words_of(at)


def test_labellers_are_offered_no_export(filled_store: Store, open_page: Open) -> None:
    people.set_role(filled_store, "somebody", Role.ADMIN)
    at = open_page("texts", view="Bundle and dataset", corpus=CORPUS)
    assert not at.exception and "Create dataset" not in [button.label for button in at.button]


def test_the_zip_file_of_a_dataset_is_uploaded_and_imported(
    filled_store: Store, open_page: Open, tmp_path: Path
) -> None:
    run_here(filled_store, "export-dataset", {"corpus": CORPUS, "folder": str(tmp_path / "rivers")}, quiet=True)
    archive = Path(shutil.make_archive(str(tmp_path / "rivers again"), "zip", tmp_path, "rivers"))
    at = open_page("import")
    uploaded = (archive.name, archive.read_bytes(), "application/zip")
    at.file_uploader(key="texts_import_files_0").set_value(uploaded).run()
    assert not at.exception and not at.error and f"= {72} units" in plain_words_of(at)
    press(at, "Import")
    args = queued(filled_store, "import-corpus")
    run_here(filled_store, "import-corpus", args, quiet=True)
    with filled_store.reading() as r:
        first, again = r.corpora.by_name(CORPUS), r.corpora.by_name(str(args["corpus"]))
    assert (again.name, again.sentences, again.sections) == ("rivers", first.sentences, first.sections)


def test_several_files_are_listed_and_each_is_read_in_its_own_format(
    sqlite_store: Store, open_page: Open, tmp_path: Path
) -> None:
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("Answers")):
        for row in (("id", "answer"), (1, "Trains are full."), (2, "Buses are late.")):
            sheet.append(row)
    book.save(tmp_path / "answers.xlsx")
    uploads = [
        ("Ada.txt", b"Ada was a town. It grew.\n", "text/plain"),
        ("answers.xlsx", (tmp_path / "answers.xlsx").read_bytes(), "application/octet-stream"),
        ("cut.docx", sample("word")[:-40], "application/octet-stream"),
    ]
    at = open_page("import")
    at.file_uploader(key="texts_import_files_0").set_value(uploads).run()
    assert not at.exception
    assert list(at.dataframe[0].value["State"]) == ["Ready", "Choose", "Left out"]
    assert next(button for button in at.button if button.label == "Import").disabled
    at = press(at, r"Sheet\: Answers")
    assert list(at.dataframe[0].value["State"]) == ["Ready", "Chosen", "Left out"]
    at = press(at, "Import")
    run_here(sqlite_store, "import-corpus", queued(sqlite_store, "import-corpus"), quiet=True)
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("Ada and 2 more files")
        (entry,) = [entry for entry in r.corpora.entries(corpus.id) if entry.reason == UNREADABLE]
    assert (corpus.articles, corpus.sentences, entry.place) == (2, 4, "cut.docx")
