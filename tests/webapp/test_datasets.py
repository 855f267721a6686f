"""Datasets on the page Data: export with labels, download, and import of a folder of the server."""

import shutil
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS
from tests.webapp.hands import plain_words_of, press
from themescope.core.records.stored import JobStatus, Role
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.queue.foreground import run_here
from themescope.jobs.services.accounts import people
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
    at = open_page("corpora", view="All projects", details=CORPUS)
    labels = next(box for box in at.selectbox if box.label == "Labels")
    assert name in labels.options
    labels.select(name)
    at = press(at, "Create dataset")
    args = queued(filled_store, "export-dataset")
    assert (args["corpus"], args["labelling"], args["themes"], args["folder"]) == (CORPUS, name, False, "")
    run_here(filled_store, "export-dataset", args, quiet=True)
    at = open_page("corpora", view="All projects", details=CORPUS)
    assert not at.exception and "sentences; deleted after a week" in plain_words_of(at)


def test_labellers_are_offered_no_export(filled_store: Store, open_page: Open) -> None:
    people.set_role(filled_store, "somebody", Role.ADMIN)
    at = open_page("corpora", view="All projects", details=CORPUS)
    assert not at.exception and "Create dataset" not in [button.label for button in at.button]


def test_the_zip_file_of_a_dataset_is_uploaded_and_imported(
    filled_store: Store, open_page: Open, tmp_path: Path
) -> None:
    run_here(filled_store, "export-dataset", {"corpus": CORPUS, "folder": str(tmp_path / "rivers")}, quiet=True)
    archive = Path(shutil.make_archive(str(tmp_path / "rivers again"), "zip", tmp_path, "rivers"))
    at = open_page("corpora", view="Import")
    uploaded = (archive.name, archive.read_bytes(), "application/zip")
    at.file_uploader(key="corpora_import_files_0").set_value(uploaded).run()
    assert not at.exception and not at.error and "Preview" in plain_words_of(at)
    press(at, "Import")
    args = queued(filled_store, "import-corpus")
    run_here(filled_store, "import-corpus", args, quiet=True)
    with filled_store.reading() as r:
        first, again = r.corpora.by_name(CORPUS), r.corpora.by_name(str(args["corpus"]))
    assert (again.name, again.sentences, again.sections) == ("rivers", first.sentences, first.sections)
