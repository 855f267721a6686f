"""A store with files of models and vectors, people, sessions and a labelling, and comparisons of two stores."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from tests.db.texts import add_corpus
from tests.servers import PostgresServer
from themescope.core.labelling import operations as op
from themescope.core.records.stored import Role, Sharing
from themescope.db.files.snapshots import left_out
from themescope.db.records import NewLabelling, SignInMethod, VectorBlock
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.services import people
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

SECRET = "correct horse battery"


def fill(store: Store) -> LabellingSession:
    """A corpus, a model with its files and vectors, two accounts with a session, and a labelling of Ada."""
    corpus = add_corpus(store)
    artifact = store.artifacts.put(_write_model)
    blocks = [VectorBlock(article, np.full((12, 4), article, dtype=np.float32)) for article in range(1, 6)]
    vectors = store.vector_files.put(blocks)
    with store.writing() as w:
        model = w.models.add(
            name="model", method="mean-vectors", config={}, seed=0, digest="d", artifact=artifact, metrics={}
        )
        w.embeddings.add_file(model.id, vectors)
        w.jobs.add("train", "Train a model", {"name": "model"})
    people.add(store, "Ada", Role.ADMIN, SECRET)
    people.add(store, "ben@example.org", Role.LABELLER, None)
    with store.writing() as w:
        w.sessions.open("Ada", SignInMethod.PASSWORD)
    new = NewLabelling(corpus.id, "themes", "Ada", Sharing.SHARED)
    session = LabellingSession(store, starts.begin(store, new, starts.from_sections).id, "Ada")
    label(session, 0)
    return session


def label(session: LabellingSession, number: int) -> None:
    """Move two sentences into a new cluster."""
    ids = session.partition.ids[number : number + 2]
    name = f"Theme {session.next_number}"
    session.do(op.create(session.partition, session.next_number, name, ids), "because", "lasso")


def _write_model(folder: Path) -> None:
    (folder / "model.json").write_text('{"model": 1}', encoding="utf-8")
    (folder / "parts").mkdir()
    (folder / "parts" / "weights.safetensors").write_bytes(bytes(range(256)) * 40)


def elsewhere(store: Store, folder: Path, server: PostgresServer | None) -> Settings:
    """Settings of an empty data folder and an empty database of the same engine."""
    url = "" if server is None else server.new_database()
    return replace(Settings.in_folder(folder, url), vector_files_from=store.settings.vector_files_from)


def rows(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that a backup contains."""
    found = {}
    with store.reading() as r:
        for table in metadata.sorted_tables:
            if not left_out(table):
                selected = r.people.connection.execute(sa.select(table).order_by(*table.primary_key))
                found[table.name] = [tuple(map(str, row)) for row in selected]
    return found


def files(store: Store) -> dict[str, bytes]:
    """Every file in the data folder but databases and locks."""
    home = store.settings.home
    database = sqlite_path(store.settings.database_url)
    paths = [p for p in home.rglob("*") if p.is_file() and "lock" not in p.name]
    return {
        p.relative_to(home).as_posix(): p.read_bytes()
        for p in paths
        if database is None or not p.name.startswith(database.name)
    }
