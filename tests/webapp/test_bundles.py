"""Bundles: export and download on the page Texts, import as any file on the page Import."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.columned import add_columns
from tests.webapp.filled import CORPUS
from tests.webapp.hands import plain_words_of, press
from themescope.core.records.stored import JobStatus
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.labelling import qda_projects, starts
from themescope.webapp.shared.forms import SERVER_PATH

Open = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def folder_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages may read the files of the test by their path."""
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_a_bundle_is_exported_and_downloaded(filled_store: Store, open_page: Open) -> None:
    at = press(open_page("texts", view="Bundle and dataset", corpus=CORPUS), "Create bundle")
    assert not at.exception
    with filled_store.reading() as r:
        (job,) = [j for j in r.jobs.list(status=JobStatus.QUEUED) if j.kind == "export-bundle"]
    assert job.args["corpus"] == CORPUS and job.args["file"] == ""
    run_here(filled_store, "export-bundle", job.args, quiet=True)
    at = open_page("texts", view="Bundle and dataset", corpus=CORPUS)
    assert not at.exception
    assert "deleted after a week" in plain_words_of(at)


def test_a_bundle_is_looked_into_and_imported(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    run_here(filled_store, "export-bundle", {"corpus": CORPUS, "file": str(path)}, quiet=True)
    at = open_page("import")
    typed(at, path)
    assert "Project of Themescope (bundle): 3 texts, 72 units, 0 codings" in plain_words_of(at)
    at = press(at, "Import")
    with filled_store.reading() as r:
        (job,) = [j for j in r.jobs.list(status=JobStatus.QUEUED) if j.kind == "import-bundle"]
    assert job.args == {"file": str(path), "corpus": f"{CORPUS} 2"}


def test_a_project_of_another_program_starts_a_project_with_its_codes_or_adds_them(
    filled_store: Store, open_page: Open, tmp_path: Path
) -> None:
    labelling = starts.begin(filled_store, NewLabelling(1, "Mine", ""), starts.from_sections)
    path = tmp_path / "study.qdpx"
    path.write_bytes(qda_projects.qdpx(filled_store, labelling.id))
    at = typed(open_page("import", corpus=CORPUS), path)
    told = plain_words_of(at)
    assert "(QDPX): 3 texts, 6 codes, 1 coder; 3 texts and 72 of 72 passages found here** for *Rivers*" in told
    press(at, "Add the codings")
    at = typed(open_page("import", corpus=CORPUS), path)
    at.button_group(key=next(g.key for g in at.button_group if g.label == "Becomes")).set_value("New project").run()
    press(at, "Import")
    run_queued(filled_store, "import-corpus", "import-codings")
    with filled_store.reading() as r:
        named = {corpus.name: corpus for corpus in r.corpora.list()}
        assert [*named] == [CORPUS, "Mine"] and named["Mine"].articles == 3
        made = {name: [one for one in r.labellings.list(corpus.id) if one.origin.get("name") == "study.qdpx"]
                for name, corpus in named.items()}  # fmt: skip
        assert [len(found) for found in made.values()] == [1, 1]
        for (found,) in made.values():
            names = {cluster.name for cluster in r.labellings.clusters(found.id).values()}
            assert names == {cluster.name for cluster in r.labellings.clusters(labelling.id).values()}


def test_labels_of_another_program_start_a_project_with_a_coding_for_each_coder(
    filled_store: Store, open_page: Open, tmp_path: Path
) -> None:
    def task(text: str, *by: tuple[str, str]) -> dict[str, object]:
        made = [
            {"completed_by": {"email": who}, "result": [{"type": "choices", "value": {"choices": [code]}}]}
            for who, code in by
        ]
        return {"data": {"text": text}, "annotations": made}

    path = tmp_path / "party answers.json"
    path.write_text(
        json.dumps(
            [
                task("Rents are too high.", ("anna", "housing"), ("ben", "housing")),
                task("Trains are late.", ("anna", "transport"), ("ben", "housing")),
            ]
        )
    )
    at = typed(open_page("import", corpus=CORPUS), path)
    assert "**Labels of 2 units by anna, ben**" in plain_words_of(at)
    press(at, "Import")
    run_queued(filled_store, "import-corpus", "import-codings")
    with filled_store.reading() as r:
        corpus = r.corpora.by_name("party answers")
        assert corpus.sentences == 2
        assert sorted(one.name for one in r.labellings.list(corpus.id)) == [
            "party answers (anna)", "party answers (ben)",
        ]  # fmt: skip


def test_a_table_of_labels_of_this_project_adds_a_coding_and_an_ordinary_one_does_not(
    filled_store: Store, open_page: Open, tmp_path: Path
) -> None:
    with filled_store.reading() as r:
        texts = [s.text for s in r.corpora.sentences(r.corpora.articles_by_title(1, "Nile")[0].id)][:6]
    path = tmp_path / "codes.csv"
    rows = "".join(f'"{text}",{"ab"[n % 2]}\n' for n, text in enumerate(texts))
    path.write_text("sentence,code\n" + rows, encoding="utf-8")
    assert "Labels of 6 units" in plain_words_of(typed(open_page("import", corpus=CORPUS), path))
    add_columns(filled_store)  # the table of the project itself has the column “side” of the project
    path = tmp_path / "again.csv"
    path.write_text("sentence,side\n" + rows, encoding="utf-8")
    assert "6 rows = 6 units" in plain_words_of(typed(open_page("import", corpus=CORPUS), path))
    path = tmp_path / "others.csv"
    path.write_text("sentence,code\nRents are high.,a\nTrains are late.,b\n", encoding="utf-8")
    assert "2 rows = 2 units" in plain_words_of(typed(open_page("import", corpus=CORPUS), path))


def typed(at: AppTest, path: Path) -> AppTest:
    """The form of imports with a path of the server."""
    at.session_state["texts_import_source_0"] = SERVER_PATH
    at.session_state["texts_import_path_0"] = str(path)
    at.run()
    assert not at.exception
    return at


def run_queued(store: Store, *kinds: str) -> None:
    """Run the queued jobs of some kinds, the first one first."""
    with store.reading() as r:
        jobs = sorted((job for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind in kinds), key=lambda j: j.id)
    for job in jobs:
        run_here(store, job.kind, job.args, quiet=True)
