"""An import of a bundle: cleanup leaves it alone, a killed worker leaves nothing, nothing comes twice."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.test_bundle import do, fill, rewritten
from themescope.core.errors import DuplicateNameError, ThemescopeError
from themescope.core.records.stored import JobStatus
from themescope.db.repositories.blocks import Embeddings
from themescope.db.repositories.corpora import Corpora
from themescope.db.repositories.jobs import Jobs
from themescope.db.repositories.runs import Models
from themescope.db.settings import Settings
from themescope.db.sql import Repository
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.common.job import JobContext, LeaveJob
from themescope.jobs.kinds import bundles
from themescope.jobs.queue.runner import run_here
from themescope.jobs.queue.worker import remove_leftovers


class Killed(BaseException):
    """What no clean-up hears of, as of kill -9."""


@pytest.fixture(scope="module")
def filled_home(make_home: MakeHome) -> Path:
    """A home with two labellings and a model."""
    return make_home(lambda store: fill(store, model=True))


@pytest.fixture(scope="module")
def bundle(filled_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of all of it; the tests only read it."""
    store = Store(Settings.in_folder(filled_home))
    with store.reading() as r:
        (corpus,) = r.corpora.list()
    path = tmp_path_factory.mktemp("bundle") / "a.zip"
    do(store, "export-bundle", corpus=corpus.name, file=str(path), models=["net", "net"])
    store.close()
    return path


def rows(store: Store) -> dict[str, int]:
    """How many rows there are of what a bundle holds."""
    with store.reading() as r:
        counts = {
            name: r.corpora.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }
    return {name: n for name, n in counts.items() if n and name not in ("job", "job_metric", "worker", "person")}


def started(store: Store, path: Path, corpus: str = "") -> JobContext:
    """A job that takes the bundle in, claimed."""
    with store.writing() as w:
        job = w.jobs.add("import-bundle", "x", {"file": str(path), "corpus": corpus})
        claimed = w.jobs.claim(job.id, "me")
    assert claimed is not None
    return JobContext(store, claimed, "me")


def go(context: JobContext, path: Path, corpus: str = "") -> dict[str, Any]:
    return bundles.import_bundle(bundles.ImportBundleConfig(str(path), corpus), context)


def test_an_import_that_runs_is_found_behind_a_long_queue(other: Store, bundle: Path, tmp_path: Path) -> None:
    context = started(other, bundle, "new")
    with other.writing() as w:
        w.corpora.create("new", "en")
        waiting = w.jobs.add("embed", "x", {"corpus": "elsewhere"})
        c, jobs = w.corpora.connection, metadata.tables["job"]
        values = dict(c.execute(sa.select(jobs).where(jobs.c.id == waiting.id)).one()._mapping)
        c.execute(sa.insert(jobs), [values | {"id": waiting.id + n} for n in range(1, 10_001)])
    files = {"files": [str(write_articles(tmp_path, 3))], "corpus": "new"}
    with pytest.raises(DuplicateNameError, match=f"Job {context.job_id} is importing it"):
        run_here(other, "import-corpus", files, quiet=True)


@pytest.mark.parametrize("name", ["", "copy"])
def test_what_is_being_imported_is_left_alone(
    other: Store, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("themescope.jobs.queue.worker.LEFTOVER_AGE", timedelta(0))
    stored = bundles._store_labellings
    seen: list[str] = []

    def in_the_middle(*args: Any) -> None:
        with other.reading() as r:
            (corpus,) = r.corpora.list(include_unready=True)
        assert remove_leftovers(other) == []
        with pytest.raises(DuplicateNameError, match="is importing it"):
            folder = tmp_path / f"files {name}"
            folder.mkdir()
            path = write_articles(folder, 3)
            run_here(other, "import-corpus", {"files": [str(path)], "corpus": corpus.name}, quiet=True)
        seen.append(corpus.name)
        stored(*args)

    monkeypatch.setattr(bundles, "_store_labellings", in_the_middle)
    assert do(other, "import-bundle", file=str(bundle), corpus=name)["corpus"] == seen[0]


def test_a_worker_killed_at_any_step_leaves_what_the_next_one_finishes_or_removes(
    other: Store, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = do(other, "import-bundle", file=str(bundle), corpus="whole")
    with other.writing() as w:
        w.corpora.delete(whole["corpus_id"])
        w.models.delete(w.models.by_name("net").id)
    assert rows(other) == {}
    steps = ((Corpora, "create"), (Corpora, "add_articles"), (Models, "add"), (Embeddings, "add"), (Corpora, "finish"))
    for repository, place in steps:
        context = started(other, bundle, "C")
        with monkeypatch.context() as patched:
            done = getattr(repository, place)

            def killed(self: Repository, *args: Any, done: Any = done, **named: Any) -> None:
                done(self, *args, **named)
                raise Killed

            patched.setattr(repository, place, killed)
            with pytest.raises(Killed):
                go(context, bundle, "C")
        assert go(context, bundle, "C")["corpus"] == "C"
        with other.reading() as r:
            assert [c.name for c in r.corpora.list(include_unready=True)] == ["C"]
            assert [m.name for m in r.models.list()] == ["net"]
        with other.writing() as w:
            w.corpora.delete(w.corpora.by_name("C").id)
            w.models.delete(w.models.by_name("net").id)
            w.jobs.finish(context.job_id, "me", JobStatus.DONE)
        assert rows(other) == {}


@pytest.mark.parametrize("name", ["", "C"])
def test_what_was_finished_just_before_the_worker_died_is_not_imported_twice(
    other: Store, bundle: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    context = started(other, bundle, name)
    first = go(context, bundle, name)
    assert go(context, bundle, name) == first
    with other.reading() as r:
        assert len(r.corpora.list(include_unready=True)) == 1


def test_a_kill_between_the_row_and_the_note_of_it_costs_no_name(
    other: Store, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = started(other, bundle, "C")
    with monkeypatch.context() as patched:

        def killed(*_: Any, **__: Any) -> None:
            raise LeaveJob

        patched.setattr(Jobs, "note", killed)
        with pytest.raises(LeaveJob):
            go(context, bundle, "C")
    assert go(context, bundle, "C")["corpus"] == "C"


def _text(parts: dict[str, bytes], _: Any) -> None:
    parts["articles.jsonl"] = parts["articles.jsonl"].replace(b"Three.", b"Thr33.")


def _labels(parts: dict[str, bytes], _: Any) -> None:
    parts["labellings/0001.jsonl"] = parts["labellings/0001.jsonl"].replace(b"Three.", b"Thr33.")


def _steps(parts: dict[str, bytes], _: Any) -> None:
    parts["labellings/0001.jsonl"] = b"".join(parts["labellings/0001.jsonl"].splitlines(True)[:-1])


def _pickled_model(parts: dict[str, bytes], manifest: Any) -> None:
    parts["models/00/model.json"] = b"\x80\x04\x95 a pickle"
    manifest["about"]["models"][0]["digest"] = "another"


def _about(_: dict[str, bytes], manifest: Any) -> None:
    manifest["about"]["corpus"] = 1


def _no_vectors(parts: dict[str, bytes], _: Any) -> None:
    parts["vectors/00/00000.safetensors"] = b"\x80\x04\x95 a pickle"


def _missing_vectors(parts: dict[str, bytes], _: Any) -> None:
    del parts["vectors/00/00000.safetensors"]


def _no_such_model(parts: dict[str, bytes], _: Any) -> None:
    parts["vectors/01/00000.safetensors"] = parts["vectors/00/00000.safetensors"]


def _another_method(_: dict[str, bytes], manifest: Any) -> None:
    manifest["about"]["models"][0]["method"] = "tfidf"


def _more_labellings(_: dict[str, bytes], manifest: Any) -> None:
    manifest["about"]["labellings"].pop()


def _another_owner(_: dict[str, bytes], manifest: Any) -> None:
    manifest["about"]["labellings"][0]["owner"] = "eve"


CHANGES = (
    *(_text, _labels, _steps, _pickled_model, _about),
    *(_no_vectors, _missing_vectors, _no_such_model, _another_method, _more_labellings, _another_owner),
)


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_at_all_is_left_of_what_was_refused(other: Store, bundle: Path, tmp_path: Path, change: Any) -> None:
    with pytest.raises(ThemescopeError):
        do(other, "import-bundle", file=str(rewritten(bundle, tmp_path / "b.zip", change)))
    with other.reading() as r:
        assert rows(other) == {} and r.people.list() == []


def test_a_model_that_was_here_before_stays(other: Store, bundle: Path, tmp_path: Path) -> None:
    do(other, "import-bundle", file=str(bundle))
    before = rows(other)
    with pytest.raises(ThemescopeError):
        do(other, "import-bundle", file=str(rewritten(bundle, tmp_path / "b.zip", _no_vectors)))
    assert rows(other) == before


def test_leftovers_of_killed_exports_go(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import time

    fill(sqlite_store)
    with sqlite_store.reading() as r:
        (corpus,) = r.corpora.list()
    folder = sqlite_store.settings.home / "bundles"
    folder.mkdir()
    old = time.time() - 8 * 86_400
    for name in (".half.zip.1234", "old.zip"):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (old, old))
    (folder / ".young.zip.1234").write_bytes(b"x")
    made = do(sqlite_store, "export-bundle", corpus=corpus.name)
    assert {path.name for path in folder.iterdir()} == {".young.zip.1234", Path(made["file"]).name}


@pytest.mark.parametrize("gone", ["corpus", "vectors"])
def test_what_is_deleted_while_it_is_written_makes_no_bundle(
    copy_home: CopyHome, filled_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    store = copy_home(filled_home)
    with store.reading() as r:
        (corpus,), net = r.corpora.list(), r.models.by_name("net")
    write = bundles._write_articles

    def deleted(*args: Any) -> Any:
        digest = write(*args)
        with store.writing() as w:
            if gone == "corpus":
                w.corpora.delete(corpus.id)
            else:
                w.embeddings.delete(net.id)
        return digest

    monkeypatch.setattr(bundles, "_write_articles", deleted)
    models = ["net"] * (gone == "vectors")
    with pytest.raises(ThemescopeError, match="There is no corpus" if gone == "corpus" else "deleted during"):
        do(store, "export-bundle", corpus=corpus.name, file=str(tmp_path / "a.zip"), models=models)
    assert not list(tmp_path.glob("*.zip*"))
