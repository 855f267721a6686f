"""A bundle: what one store exports another imports, all of it or nothing."""

import hashlib
import json
import os
import time
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.test_cli import call, call_json
from tests.jobs.test_kinds import do
from themescope.core.errors import DataError, DuplicateNameError, ReadError, ThemescopeError
from themescope.core.labelling import operations as op
from themescope.core.models import REGISTRY as METHODS
from themescope.core.records.stored import JobStatus, Sharing
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import NewLabelling
from themescope.db.repositories.blocks import Embeddings
from themescope.db.repositories.corpora import Corpora
from themescope.db.repositories.jobs import Jobs
from themescope.db.repositories.runs import Models
from themescope.db.settings import Settings
from themescope.db.sql import Repository
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.common.files import MANIFEST
from themescope.jobs.common.job import JobContext, LeaveJob
from themescope.jobs.kinds import bundles
from themescope.jobs.queue.worker import remove_leftovers
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

HOSTILE = "=1+1 <script>alert(1)</script> ../../etc \u202e \u2028 😀 \0"


def fill(store: Store, model: bool = False) -> str:
    """Two articles of the same name, hostile text everywhere, two labellings with histories, perhaps vectors.

    Return the name of the corpus.
    """

    def section(title: str, *paragraphs: tuple[str, ...]) -> Section:
        return Section(title, 2 if title else 1, tuple(Paragraph("", p) for p in paragraphs), (title,) if title else ())

    texts = [
        Article("Twice", (section("", ("One.",)), section("A", ("Two.", "Three."), ("Two.",)))),
        Article("Twice", (section("", ("One.",)), section("B", ("Two.", "Three."), ("Two.",)))),
        Article(HOSTILE, (section(HOSTILE, (HOSTILE, "Last one.")),), HOSTILE, "source", "topic", "train"),
        Article("Empty", (section("", ()),)),
    ]
    with store.writing() as w:
        corpus = w.corpora.create(f"towns {HOSTILE}", "en")
        w.corpora.add_articles(corpus.id, texts)
        w.corpora.finish(corpus.id, {"files": [HOSTILE], "skipped": {"x": 1}})
        article = w.corpora.articles(corpus.id)[1]
    for name, owner, of in (("whole", "ada", None), (HOSTILE, HOSTILE, article.id)):
        new = NewLabelling(corpus.id, name, owner, Sharing.SHARED, of is not None, of)
        session = LabellingSession(store, starts.begin(store, new, starts.from_sections).id, owner)
        session.do(
            op.create(session.partition, session.next_number, f"{HOSTILE} again", session.partition.ids[1:3]),
            "because",
            "lasso",
        )
        session.do(op.note(session.partition, session.partition.ids[:1], HOSTILE))
        session.undo()
        session.redo()
        other = LabellingSession(store, session.record.id, "ben")
        other.do(op.rename(other.partition, next(iter(other.partition.clusters)), "Renamed"))
    if model:
        do(store, "train", method="mean-vectors", name="net", settings={"vocabulary_limit": 200})
        do(store, "embed", corpus=corpus.name, model="net")
    return corpus.name


def test_what_is_imported_is_what_was_exported(store: Store, other: Store, tmp_path: Path) -> None:
    name = fill(store, model=True)
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    made = do(store, "export-bundle", corpus=name, file=str(first), models=["net"])
    assert (made["articles"], made["labellings"], made["bytes"]) == (4, 2, first.stat().st_size)
    taken = do(other, "import-bundle", file=str(first))
    assert (taken["corpus"], taken["labellings"], taken["models"]) == (name, 2, ["net"])
    do(other, "export-bundle", corpus=name, file=str(second), models=["net"])
    assert first.read_bytes() == second.read_bytes()
    with store.reading() as a, other.reading() as b:
        corpus, now = a.corpora.by_name(name), b.corpora.by_name(name)
        counts = [(c.articles, c.sections, c.paragraphs, c.sentences, dict(c.report)) for c in (corpus, now)]
        assert counts[0] == counts[1]
        ids = b.corpora.sentence_ids(now.id)
        assert [s.text for s in a.corpora.sentences_by_id(a.corpora.sentence_ids(corpus.id)).values()] == [
            s.text for s in b.corpora.sentences_by_id(ids).values()
        ]
        steps = [[(s.person, s.summary, s.when, s.reason) for s in r.label_steps.list(r.labellings.by_name("whole").id)]
                 for r in (a, b)]  # fmt: skip
        assert steps[0] == steps[1] and {person for person, *_ in steps[0]} == {"ada", "ben"}
        models = [r.models.by_name("net") for r in (a, b)]
        assert models[0].digest == models[1].digest
        articles = [[x.id for x in r.corpora.articles(c.id)] for r, c in ((a, corpus), (b, now))]
        for mine, theirs in zip(*articles, strict=True):
            x, y = a.embeddings.get(models[0].id, [mine]), b.embeddings.get(models[1].id, [theirs])
            assert np.array_equal(x[mine], y[theirs]) if x[mine].size else theirs not in y
    # Sessions work on the imported labelling: the history can be replayed.
    with other.reading() as r:
        record = r.labellings.by_name("whole")
    session = LabellingSession(other, record.id, "ada")
    assert session.undo() is not None
    # A second time it is numbered, and shares the model.
    again = do(other, "import-bundle", file=str(first))
    assert again["corpus"] == f"{name} 2" and again["models"] == ["net"]


def test_vectors_of_two_revisions_of_a_method_are_not_mixed(
    sqlite_store: Store, other: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "first.zip")
    do(sqlite_store, "export-bundle", corpus=fill(sqlite_store, model=True), file=file, models=["net"])
    monkeypatch.setitem(METHODS._cards, "mean-vectors", replace(METHODS.get("mean-vectors"), revision=2))

    def embedded(name: str) -> tuple[int, int]:
        """Revision of the model, and how many articles have vectors."""
        with other.reading() as r:
            model = r.models.by_name("net")
            return model.revision, len(r.embeddings.have(model.id, r.corpora.by_name(name).id))

    first = do(other, "import-bundle", file=file)["corpus"]
    assert embedded(first) == (1, 3)
    assert do(other, "embed", corpus=first, model="net")["embedded"] == 4
    assert embedded(first) == (2, 4)
    second = do(other, "import-bundle", file=file)["corpus"]
    assert embedded(second) == (2, 0)
    assert do(other, "embed", corpus=second, model="net")["embedded"] == 4


def test_a_bundle_from_one_engine_goes_to_the_other(sqlite_store: Store, tmp_path: Path, postgres_url: str) -> None:
    name = fill(sqlite_store)
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    do(sqlite_store, "export-bundle", corpus=name, file=str(first))
    with closing(Store(Settings.in_folder(tmp_path / "pg", postgres_url))) as target:
        do(target, "import-bundle", file=str(first))
        do(target, "export-bundle", corpus=name, file=str(second))
        assert first.read_bytes() == second.read_bytes()


def test_the_commands(sqlite_store: Store, tmp_path: Path) -> None:
    name, path = fill(sqlite_store), tmp_path / "a.zip"
    made = call_json("export", "bundle", name, path, "--no-labellings")
    assert made["labellings"] == 0 and path.is_file()
    again = call("export", "bundle", name, path)
    assert again.exit_code == 2 and "already" in again.stderr
    assert call_json("import", path, "--corpus", "copy")["corpus"] == "copy"
    taken = call("import", path, "--corpus", "copy")
    assert taken.exit_code == 2 and "exists already" in taken.stderr
    assert call("import", tmp_path / "nowhere.zip", "--corpus", "copy 2").exit_code == 2
    with pytest.raises(DataError, match="does not exist"):
        do(sqlite_store, "export-bundle", corpus=name, file=str(tmp_path / "no" / "x.zip"))
    with pytest.raises(DataError, match=r"is a folder\. Name a file\."):
        do(sqlite_store, "export-bundle", corpus=name, file=str(tmp_path))
    with pytest.raises(ReadError):
        do(sqlite_store, "import-bundle", file=str(tmp_path / "nowhere.zip"))


class Killed(BaseException):
    """What no clean-up hears of, as of kill -9."""


@pytest.fixture(scope="module")
def filled_home(make_home: MakeHome) -> Path:
    """A home with two labellings and a model."""
    return make_home(lambda store: fill(store, model=True))


@pytest.fixture(scope="module")
def bundle(filled_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of all of it; the tests only read it."""
    path = tmp_path_factory.mktemp("bundle") / "a.zip"
    with closing(Store(Settings.in_folder(filled_home))) as store:
        do(store, "export-bundle", corpus=only_corpus(store), file=str(path), models=["net", "net"])
    return path


def only_corpus(store: Store) -> str:
    with store.reading() as r:
        (corpus,) = r.corpora.list(include_unready=True)
    return corpus.name


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
    with pytest.raises(DuplicateNameError, match=f"Job {context.job_id} is importing it"):
        do(other, "import-corpus", files=[str(write_articles(tmp_path, 3))], corpus="new")


@pytest.mark.parametrize("name", ["", "copy"])
def test_what_is_being_imported_is_left_alone(
    other: Store, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("themescope.jobs.queue.worker.LEFTOVER_AGE", timedelta(0))
    stored = bundles._store_labellings
    seen: list[str] = []

    def in_the_middle(*args: Any) -> None:
        seen.append(only_corpus(other))
        assert remove_leftovers(other) == []
        with pytest.raises(DuplicateNameError, match="is importing it"):
            do(other, "import-corpus", files=[str(write_articles(tmp_path, 3))], corpus=seen[0])
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
        assert only_corpus(other) == "C"
        with other.writing() as w:
            assert [m.name for m in w.models.list()] == ["net"]
            w.corpora.delete(w.corpora.by_name("C").id)
            w.models.delete(w.models.by_name("net").id)
            w.jobs.finish(context.job_id, "me", JobStatus.DONE)
        assert rows(other) == {}


@pytest.mark.parametrize("name", ["", "C"])
def test_what_was_finished_just_before_the_worker_died_is_not_imported_twice(
    other: Store, bundle: Path, name: str
) -> None:
    context = started(other, bundle, name)
    first = go(context, bundle, name)
    assert go(context, bundle, name) == first and only_corpus(other) == first["corpus"]


def test_a_kill_between_row_and_note_costs_no_name(other: Store, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = started(other, bundle, "C")
    with monkeypatch.context() as patched:

        def killed(*_: Any, **__: Any) -> None:
            raise LeaveJob

        patched.setattr(Jobs, "note", killed)
        with pytest.raises(LeaveJob):
            go(context, bundle, "C")
    assert go(context, bundle, "C")["corpus"] == "C"


DAMAGES = (
    *(
        "articles.jsonl",
        "labellings/0001.jsonl",
        "last step",
        "pickle as a model",
        "corpus that is a number",
        "pickle as vectors",
    ),
    *("vectors are missing", "vectors of no model", "another method", "one labelling more", "another owner"),
)


def damaged(source: Path, target: Path, damage: str) -> str:
    """Write the bundle with one part changed, and a manifest that fits."""
    with zipfile.ZipFile(source) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(parts.pop(MANIFEST))
    about, labels, vectors = manifest["about"], "labellings/0001.jsonl", "vectors/00/00000.safetensors"
    match damage:
        case "articles.jsonl" | "labellings/0001.jsonl":
            parts[damage] = parts[damage].replace(b"Three.", b"Thr33.")
        case "last step":
            parts[labels] = b"".join(parts[labels].splitlines(True)[:-1])
        case "pickle as a model":
            parts["models/00/model.json"] = b"\x80\x04\x95 a pickle"
            about["models"][0]["digest"] = "another"
        case "corpus that is a number":
            about["corpus"] = 1
        case "pickle as vectors":
            parts[vectors] = b"\x80\x04\x95 a pickle"
        case "vectors are missing":
            del parts[vectors]
        case "vectors of no model":
            parts["vectors/01/00000.safetensors"] = parts[vectors]
        case "another method":
            about["models"][0]["method"] = "tfidf"
        case "one labelling more":
            about["labellings"].pop()
        case "another owner":
            about["labellings"][0]["owner"] = "eve"
    manifest["parts"] = {n: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in parts.items()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in {**parts, MANIFEST: json.dumps(manifest).encode()}.items():
            file.writestr(name, data)
    return str(target)


@pytest.mark.parametrize("damage", DAMAGES)
def test_nothing_at_all_is_left_of_what_was_refused(other: Store, bundle: Path, tmp_path: Path, damage: str) -> None:
    with pytest.raises(ThemescopeError):
        do(other, "import-bundle", file=damaged(bundle, tmp_path / "b.zip", damage))
    with other.reading() as r:
        assert rows(other) == {} and r.people.list() == []


def test_a_model_that_was_here_before_stays(other: Store, bundle: Path, tmp_path: Path) -> None:
    do(other, "import-bundle", file=str(bundle))
    before = rows(other)
    with pytest.raises(ThemescopeError):
        do(other, "import-bundle", file=damaged(bundle, tmp_path / "b.zip", "pickle as vectors"))
    assert rows(other) == before


def test_leftovers_of_killed_exports_go(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = fill(sqlite_store)
    folder = sqlite_store.settings.home / "bundles"
    folder.mkdir()
    old = time.time() - 8 * 86_400
    for name in (".half.zip.1234", "old.zip"):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (old, old))
    (folder / ".young.zip.1234").write_bytes(b"x")
    made = do(sqlite_store, "export-bundle", corpus=corpus)
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
