"""A bundle: what one store exports another imports, all of it or nothing."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.jobs.test_cli import call, call_json
from themescope.core.errors import DataError, ReadError
from themescope.core.labelling import operations as op
from themescope.core.models import REGISTRY as METHODS
from themescope.core.records.stored import Sharing
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import NewLabelling
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.files import MANIFEST
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

HOSTILE = "=1+1 <script>alert(1)</script> ../../etc \u202e \u2028 😀 \0"


def do(store: Store, kind: str, **args: Any) -> dict[str, Any]:
    return run_here(store, kind, args, quiet=True)


def fill(store: Store, model: bool = False) -> None:
    """Two articles of the same name, hostile text everywhere, two labellings with histories, perhaps vectors."""

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


def test_what_is_imported_is_what_was_exported(store: Store, other: Store, tmp_path: Path) -> None:
    fill(store, model=True)
    with store.reading() as r:
        (corpus,) = r.corpora.list()
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    made = do(store, "export-bundle", corpus=corpus.name, file=str(first), models=["net"])
    assert (made["articles"], made["labellings"], made["bytes"]) == (4, 2, first.stat().st_size)
    taken = do(other, "import-bundle", file=str(first))
    assert (taken["corpus"], taken["labellings"], taken["models"]) == (corpus.name, 2, ["net"])
    do(other, "export-bundle", corpus=corpus.name, file=str(second), models=["net"])
    assert first.read_bytes() == second.read_bytes()
    with store.reading() as a, other.reading() as b:
        now = b.corpora.by_name(corpus.name)
        assert (now.articles, now.sections, now.paragraphs, now.sentences, dict(now.report)) == (
            corpus.articles, corpus.sections, corpus.paragraphs, corpus.sentences, dict(corpus.report),
        )  # fmt: skip
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
    assert again["corpus"] == f"{corpus.name} 2" and again["models"] == ["net"]


def test_vectors_of_two_revisions_of_a_method_are_not_mixed(
    sqlite_store: Store, other: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(sqlite_store, model=True)
    with sqlite_store.reading() as r:
        (corpus,) = r.corpora.list()
    file = str(tmp_path / "first.zip")
    do(sqlite_store, "export-bundle", corpus=corpus.name, file=file, models=["net"])
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
    fill(sqlite_store)
    with sqlite_store.reading() as r:
        (corpus,) = r.corpora.list()
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    do(sqlite_store, "export-bundle", corpus=corpus.name, file=str(first))
    target = Store(Settings.in_folder(tmp_path / "pg", postgres_url))
    try:
        do(target, "import-bundle", file=str(first))
        do(target, "export-bundle", corpus=corpus.name, file=str(second))
        assert first.read_bytes() == second.read_bytes()
    finally:
        target.close()


def rewritten(source: Path, target: Path, change: Any) -> Path:
    """The bundle with one part changed, and a manifest that fits."""
    import hashlib

    with zipfile.ZipFile(source) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(parts.pop(MANIFEST))
    change(parts, manifest)
    manifest["parts"] = {n: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in parts.items()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in {**parts, MANIFEST: json.dumps(manifest).encode()}.items():
            file.writestr(name, data)
    return target


def test_the_commands(sqlite_store: Store, tmp_path: Path) -> None:
    fill(sqlite_store)
    with sqlite_store.reading() as r:
        (corpus,) = r.corpora.list()
    path = tmp_path / "a.zip"
    made = call_json("export", "bundle", corpus.name, path, "--no-labellings")
    assert made["labellings"] == 0 and path.is_file()
    again = call("export", "bundle", corpus.name, path)
    assert again.exit_code == 2 and "already" in again.stderr
    assert call_json("import", path, "--corpus", "copy")["corpus"] == "copy"
    taken = call("import", path, "--corpus", "copy")
    assert taken.exit_code == 2 and "exists already" in taken.stderr
    assert call("import", tmp_path / "nowhere.zip", "--corpus", "copy 2").exit_code == 2
    with pytest.raises(DataError, match="does not exist"):
        do(sqlite_store, "export-bundle", corpus=corpus.name, file=str(tmp_path / "no" / "x.zip"))
    with pytest.raises(DataError, match=r"is a folder\. Name a file\."):
        do(sqlite_store, "export-bundle", corpus=corpus.name, file=str(tmp_path))
    with pytest.raises(ReadError):
        do(sqlite_store, "import-bundle", file=str(tmp_path / "nowhere.zip"))
