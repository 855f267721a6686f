"""Store: units of work over the repositories."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from themescope.db import tables as t
from themescope.db.access import Right, act_as, look_as, seeing_all
from themescope.db.engine import (
    as_store_error,
    check_current,
    open_engine,
    readers_of,
    release_free_pages,
    up_to_date,
    upgrade,
)
from themescope.db.files.artifacts import Artifacts, open_folder
from themescope.db.files.vector_files import VectorFiles
from themescope.db.repositories.blocks import Columns, Embeddings
from themescope.db.repositories.corpora import Corpora, TextSearch
from themescope.db.repositories.corpus_edits import CorpusEdits
from themescope.db.repositories.failures import Failures
from themescope.db.repositories.jobs import Jobs, Workers
from themescope.db.repositories.label_steps import LabelSteps
from themescope.db.repositories.labellings import Labellings, Predictions, Tasks
from themescope.db.repositories.people import (
    ApiTokens,
    AuditLog,
    FailedSignIns,
    Logins,
    People,
    Selections,
    Sessions,
    Views,
)
from themescope.db.repositories.runs import Benchmarks, Maps, Models, Papers, Runs
from themescope.db.repositories.triplets import TripletReviews, Triplets
from themescope.db.settings import Settings


class Unit:
    """All repositories over one transaction. Use it only inside its ``with`` block."""

    def __init__(self, connection: Connection, vector_files: VectorFiles) -> None:
        self.corpora = Corpora(connection)
        self.corpus_edits = CorpusEdits(connection)
        self.columns = Columns(connection)
        self.text_search = TextSearch(connection)
        self.triplets = Triplets(connection)
        self.reviews = TripletReviews(connection)
        self.models = Models(connection)
        self.embeddings = Embeddings(connection, vector_files)
        self.benchmarks = Benchmarks(connection)
        self.runs = Runs(connection)
        self.maps = Maps(connection)
        self.papers = Papers(connection)
        self.views = Views(connection)
        self.selections = Selections(connection)
        self.failures = Failures(connection)
        self.people = People(connection)
        self.logins = Logins(connection)
        self.sessions = Sessions(connection)
        self.api_tokens = ApiTokens(connection)
        self.failed_sign_ins = FailedSignIns(connection)
        self.audit_log = AuditLog(connection)
        self.labellings = Labellings(connection)
        self.label_steps = LabelSteps(connection)
        self.predictions = Predictions(connection)
        self.tasks = Tasks(connection)
        self.jobs = Jobs(connection)
        self.workers = Workers(connection)
        self.seeing_all = partial(seeing_all, connection)
        """Context in which nothing is left out, for services that tell people part of what is hidden from them."""


Writer = Callable[[], str]
"""Function that returns the name of the person who writes; raises ``AccessError`` if nobody is signed in."""


class _Connections:
    """Connections of a store, opened on first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = Lock()
        self._opened: Engine | None = None

    def engine(self) -> Engine:
        with self._lock:
            if self._opened is None:
                self._opened = open_engine(self._settings)
            return self._opened

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.dispose()


class Store:
    """Access to the database and the artifacts. Cheap to build, connects on first use, and is thread-safe.

    A store can be pickled; the copy in another process opens its own connections.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.artifacts = Artifacts(settings.home)
        self.vector_files = VectorFiles(open_folder(settings.vectors_url, settings.home))
        self._connections = _Connections(settings)
        self._writer: Writer | None = None
        self._reader: Writer | None = None

    def by(self, writer: Writer, reader: Writer | None = None) -> Store:
        """Return this store, with the same connections, for people: roles and blind tasks limit them.

        The person, by default the same function for reading, and their role are looked up in every transaction.
        """
        store = Store(self.settings)
        store._connections, store._writer, store._reader = self._connections, writer, reader or writer
        return store

    @property
    def for_people(self) -> bool:
        """Return whether this store acts for the people who use the pages, not for the owner of the data folder."""
        return self._writer is not None

    @property
    def _readers(self) -> Engine:
        return readers_of(self._connections.engine())

    @contextmanager
    def reading(self) -> Iterator[Unit]:
        """Open a read-only snapshot, which never waits for a writer.

        A store for people leaves out what a blind task hides from the person. Raises ``StoreError`` if the database
        cannot be reached or is not set up.
        """
        person = None if self._reader is None else self._reader()
        with self._converted_errors(), self._readers.connect() as connection:
            if person is not None:
                look_as(connection, person)
            yield Unit(connection, self.vector_files)

    @contextmanager
    def writing(self) -> Iterator[Unit]:
        """Open a transaction, which is committed when the block ends and rolled back when it raises.

        Keep it short: on SQLite there is one writer at a time, and others wait up to 15 seconds. Compute first.

        Raises ``StoreError`` if the database cannot be reached or written to, is locked for too long, or is not set up,
        and ``AccessError`` if this is a store for people (see :meth:`by`) and the role of the person does not allow the
        change.
        """
        person = None if self._writer is None else self._writer()
        with self._converted_errors(), self._connections.engine().begin() as connection:
            unit = Unit(connection, self.vector_files)
            if person is not None:
                actor = unit.people.actor(person)
                act_as(connection, actor)
                if not actor.may(Right.MANAGE):  # what admins remove goes from all labellings
                    look_as(connection, person)
            yield unit

    def migrate(self) -> None:
        """Create or migrate the tables; several processes may do so at the same time.

        Raises ``StoreError`` if the store cannot be reached, or was made by a newer version.
        """
        with self._converted_errors():
            if not self.is_current():
                upgrade(self.settings)

    def is_current(self) -> bool:
        """Return whether the tables are those of this version; a new connection is opened for it.

        Raises ``StoreError`` if the database cannot be reached.
        """
        with self._converted_errors():
            return up_to_date(self.settings)

    def check_current(self) -> None:
        """Raise ``SchemaError`` if the tables are not those of this version, for example after an upgrade."""
        with self._converted_errors(), self._readers.connect() as connection:
            check_current(connection, self.settings)

    def remove_unused_artifacts(self) -> list[str]:
        """Remove the files of deleted models if they are older than a day; return their digests."""
        return self.artifacts.remove_unused(self._artifacts_in_use())

    def remove_unused_vector_files(self) -> list[str]:
        """Remove files of deleted vectors, and unfinished ones, older than a day; return digests."""
        with self.writing() as w:
            w.embeddings.forget_empty_files()
        with self.reading() as r:
            in_use = r.embeddings.files()
        return self.vector_files.remove_unused(in_use)

    def release_free_pages(self) -> None:
        """Give the space of deleted rows back to the disk, see :func:`themescope.db.engine.release_free_pages`."""
        with self._converted_errors():
            release_free_pages(self.settings)

    def unused_artifacts(self) -> list[str]:
        """Return the digests of the artifacts without a model: deleted ones, or ones that are just being stored."""
        return self.artifacts.unused(self._artifacts_in_use())

    def _artifacts_in_use(self) -> set[str]:
        with self._converted_errors(), self._readers.connect() as connection:
            return set(connection.execute(sa.select(t.model.c.artifact)).scalars())

    def close(self) -> None:
        """Close the connections; the store opens new ones on the next use."""
        self._connections.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._writer is not None:
            raise TypeError("A store for people cannot be pickled.")
        return Store, (self.settings,)

    @contextmanager
    def _converted_errors(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            converted = as_store_error(error, self.settings)
            if converted is None:
                raise
            raise converted from error
