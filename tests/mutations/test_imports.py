"""Mutated files of every other import: the store has all of them, or nothing of them, and a sentence says why."""

import hashlib
import json
import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psutil
import pytest
import sqlalchemy as sa
from safetensors.numpy import save

from tests.core.readers.samples import zipped
from tests.homes import MakeHome
from tests.jobs.helpers import SICK_HEADER, only_plan
from tests.jobs.test_bundle import fill
from tests.jobs.test_kinds import do
from tests.mutations.mutate import mutated, mutated_members, unpacked
from themescope.core.config import digest_of
from themescope.core.errors import ThemescopeError
from themescope.core.models.artifact import MODEL_FILE, load_model
from themescope.core.readers.formats import sample
from themescope.core.readers.tables import read_sheet
from themescope.core.records.stored import Sharing
from themescope.core.tasks.relatedness import read_sick
from themescope.core.text.word_vectors import load_word_vectors
from themescope.core.triplets.sample import read_triplets
from themescope.db.records import NewLabelling
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.common.files import MANIFEST
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.importing import Codings
from themescope.jobs.services.labelling import files, starts, tables

FEW, MANY = 15, 200  # of each import: in `make test`, and beside these in `make attacks`
MOST_SECONDS = 10.0
MOST_GROWTH = 500_000_000
OF_JOBS = {"job", "job_metric", "worker"}
"""Tables in which a refused import leaves that it was tried."""


@dataclass
class Scene:
    """A store with a corpus, labellings and a model, samples made from it, and an empty store."""

    store: Store
    empty: Store
    corpus: int
    samples: dict[str, bytes] = field(default_factory=dict)
    model: dict[str, bytes] = field(default_factory=dict)
    labellings: tuple[int, ...] = ()

    def remove_imported(self) -> None:
        """Remove what was imported, so that the next import finds the same stores, but for names of people."""
        with self.empty.writing() as w:
            for corpus in w.corpora.list():
                w.corpora.delete(corpus.id)
            for model in w.models.list():
                w.models.delete(model.id)
        with self.store.writing() as w:
            for labelling in w.labellings.list():
                if labelling.id not in self.labellings:
                    w.labellings.delete(labelling.id, labelling.owner)
                    w.labellings.purge(labelling.id, labelling.owner)


@pytest.fixture(scope="module")
def filled(make_home: MakeHome) -> Path:
    return make_home(lambda store: fill(store, model=True))


@pytest.fixture(scope="module")
def scene(filled: Path, make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("samples")
    empty = make_home(lambda store: None)
    copies = [shutil.copytree(home, folder / name) for home, name in ((filled, "a"), (empty, "b"))]
    stores = [Store(Settings.in_folder(Path(copy))) for copy in copies]
    with stores[0].reading() as r:
        (corpus,), (model,), labellings = r.corpora.list(), r.models.list(), r.labellings.list()
    do(stores[0], "export-bundle", corpus=corpus.name, file=str(folder / "bundle.zip"), models=[model.name])
    made = Scene(stores[0], stores[1], corpus.id, labellings=tuple(record.id for record in labellings))
    made.samples["bundle"] = (folder / "bundle.zip").read_bytes()
    made.samples["labels"] = files.export_lines(stores[0], labellings[0].id).encode()
    made.samples["label-table"] = b"sentence,cluster,note\nTwo.,A,x\nLast one.,B,\n"
    made.samples["list"] = b"sentence,source\nIt was founded.,a\nThen it grew.,b\n"
    made.model = {p.name: p.read_bytes() for p in stores[0].artifacts.path(model.artifact).iterdir() if p.is_file()}
    yield made
    for store in stores:
        store.close()


def rows(store: Store) -> list[object]:
    with store.reading() as r:
        kept = (table for table in metadata.sorted_tables if table.name not in OF_JOBS)
        return [r.corpora.connection.execute(sa.select(table)).all() for table in kept]


def bundle(scene: Scene, random: Random, folder: Path) -> Callable[[], object]:
    """A bundle with one mutated member, mostly with a manifest that fits."""
    members = unpacked(scene.samples["bundle"])
    if random.random() < 0.7:
        manifest = json.loads(members.pop(MANIFEST))
        members = mutated_members(members, random)
        sums = {name: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for name, d in members.items()}
        members[MANIFEST] = json.dumps(manifest | {"parts": sums}).encode()
        content = zipped(members)
    else:
        content = mutated(scene.samples["bundle"], random)
    (folder / "bundle.zip").write_bytes(content)
    return lambda: run_here(scene.empty, "import-bundle", {"file": str(folder / "bundle.zip")}, quiet=True)


def labels(scene: Scene, random: Random, folder: Path) -> Callable[[], object]:
    text = mutated(scene.samples["labels"], random).decode("utf-8", "surrogateescape")
    return lambda: files.import_lines(scene.store, scene.corpus, text.splitlines(keepends=True), "labels.jsonl")


def label_table(scene: Scene, random: Random, folder: Path) -> Callable[[], object]:
    path = folder / "table.csv"
    path.write_bytes(mutated(scene.samples["label-table"], random))

    def run() -> None:
        sheet = read_sheet(path)
        found = only_plan(scene.store, scene.corpus, None, sheet, tables.likely_columns(sheet))
        Codings("x", Path("x.csv"), (found,)).check_whole()
        new = NewLabelling(scene.corpus, "from a table", "ada", Sharing.SHARED)
        starts.begin(scene.store, new, tables.from_plan(found, path.name))

    return run


def list_of_sentences(scene: Scene, random: Random, folder: Path) -> Callable[[], object]:
    path = folder / "list.csv"
    path.write_bytes(mutated(scene.samples["list"], random))
    return lambda: run_here(scene.empty, "import-list", {"file": str(path), "corpus": "list"}, quiet=True)


def corpus(scene: Scene, random: Random, folder: Path) -> Callable[[], object]:
    """Two files, of which the second is mutated, so that the first is being stored when it is refused."""
    (folder / "first.jsonl").write_bytes(sample("jsonl"))
    (folder / "second.jsonl").write_bytes(mutated(sample("jsonl"), random))
    args = {"files": [str(folder / "first.jsonl"), str(folder / "second.jsonl")], "corpus": "mutated"}
    return lambda: run_here(scene.empty, "import-corpus", args, quiet=True)


def model(scene: Scene, random: Random, folder: Path) -> Callable[[], object]:
    """The folder of a model with one mutated file, mostly with digests that fit."""
    target = folder / "model"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    members = dict(scene.model)
    name = random.choice(sorted(members))
    members[name] = mutated(members[name], random)
    if name != MODEL_FILE and random.random() < 0.9:
        info = json.loads(members[MODEL_FILE])
        info["files"][name] = hashlib.blake2b(members[name], digest_size=16).hexdigest()
        members[MODEL_FILE] = json.dumps(info).encode()
    if random.random() < 0.9:
        with suppress(ValueError, AttributeError, RecursionError):  # a file that is no JSON object any more
            info = json.loads(members[MODEL_FILE])
            info.pop("digest", None)
            members[MODEL_FILE] = json.dumps({**info, "digest": digest_of(info)}).encode()
    for member, data in members.items():
        (target / member).write_bytes(data)

    def run() -> None:
        loaded, _ = load_model(target)
        loaded.embed([])
        run_here(scene.empty, "add-model", {"folder": str(target), "name": "mutated"}, quiet=True)

    return run


TABLE = np.arange(24, dtype=np.float32).reshape(6, 4)
GLOVE = "".join(f"w{i} " + " ".join(map(str, row)) + "\n" for i, row in enumerate(TABLE)).encode()
BINARY = b"6 4\n" + b"".join(f"w{i} ".encode() + row.tobytes() + b"\n" for i, row in enumerate(TABLE))
SICK = "".join(
    [SICK_HEADER.rstrip("\n") + "\tSemEval_set\n"]
    + [f"{i}\ta b\tb c\t{1 + i % 5}\tNEUTRAL\t{('TRAIN', 'TRIAL', 'TEST')[i % 3]}\n" for i in range(9)]
).encode()
TRIPLETS = b'Sentence1,Sentence2,Sentence3,article_id\na,b,c,1\n"d, e",f,g,2\n'
PLAIN: dict[str, tuple[str, bytes, Callable[[Path], object]]] = {
    "triplets": ("triplets.csv", TRIPLETS, read_triplets),
    "sick": ("SICK.txt", SICK, read_sick),
    "word-vectors-text": ("table.txt", GLOVE, lambda path: load_word_vectors(str(path))),
    "word-vectors-binary": ("table.bin", BINARY, lambda path: load_word_vectors(str(path))),
    "word-vectors-tensors": ("table.safetensors", save({"vectors": TABLE}), lambda path: load_word_vectors(str(path))),
}


def plain(name: str, scene: Scene, random: Random, folder: Path) -> Callable[[], object]:
    file, data, use = PLAIN[name]
    (folder / "table.vocab.txt").write_text("".join(f"w{i}\n" for i in range(6)), encoding="utf-8")
    (folder / file).write_bytes(mutated(data, random))
    return lambda: use(folder / file)


IMPORTS: dict[str, Callable[[Scene, Random, Path], Callable[[], object]]] = {
    "bundle": bundle,
    "labels": labels,
    "label-table": label_table,
    "list": list_of_sentences,
    "corpus": corpus,
    "model": model,
    **{name: partial(plain, name) for name in PLAIN},
}


def attack(name: str, scene: Scene, folder: Path, seeds: range) -> int:
    """Import mutations; return how many were refused."""
    refused = 0
    before: list[Any] = [rows(scene.store), rows(scene.empty)]
    for seed in seeds:
        run = IMPORTS[name](scene, Random(zlib.crc32(f"{name} {seed}".encode())), folder)
        start = time.thread_time()
        try:
            run()
        except ThemescopeError as error:
            text = str(error)
            assert text.endswith((".", "?", ")")) and len(text) < 2_000, (name, seed, text[:500])
            assert [rows(scene.store), rows(scene.empty)] == before, (name, seed, text)
            refused += 1
        except Exception as error:
            error.add_note(f"{name}, seed {seed}")
            raise
        else:
            scene.remove_imported()
            before = [rows(scene.store), rows(scene.empty)]
        assert time.thread_time() - start < MOST_SECONDS, (name, seed)
    return refused


@pytest.mark.parametrize("seeds", [range(FEW), pytest.param(range(FEW, FEW + MANY), marks=pytest.mark.slow)], ids=len)
@pytest.mark.parametrize("name", IMPORTS)
def test_a_mutated_file_is_imported_whole_or_not_at_all(name: str, seeds: range, scene: Scene, tmp_path: Path) -> None:
    before = psutil.Process().memory_info().rss
    assert attack(name, scene, tmp_path, seeds) > 0
    assert psutil.Process().memory_info().rss - before < MOST_GROWTH
