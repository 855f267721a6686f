"""Store: units of work over the repositories."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from db import tables as t
from db.access import act_as
from db.artifacts import Artifacts
from db.engine import open_engine, readers_of
from db.failures import as_store_error
from db.repositories.benchmarks import Benchmarks
from db.repositories.corpora import Corpora
from db.repositories.embeddings import Embeddings
from db.repositories.jobs import Jobs
from db.repositories.label_steps import LabelSteps
from db.repositories.labellings import Labellings
from db.repositories.maps import Maps
from db.repositories.models import Models
from db.repositories.papers import Papers
from db.repositories.people import People
from db.repositories.runs import Runs
from db.repositories.sign_ins import SignIns
from db.repositories.triplet_reviews import TripletReviews
from db.repositories.triplets import Triplets
from db.repositories.views import Views
from db.repositories.workers import Workers
from db.revision import up_to_date
from db.settings import Settings


class Unit:
    """Every repository over one transaction. Use it inside its ``with`` only."""

    def __init__(self, connection: Connection) -> None:
        self.corpora = Corpora(connection)
        self.triplets = Triplets(connection)
        self.reviews = TripletReviews(connection)
        self.models = Models(connection)
        self.embeddings = Embeddings(connection)
        self.benchmarks = Benchmarks(connection)
        self.runs = Runs(connection)
        self.maps = Maps(connection)
        self.papers = Papers(connection)
        self.views = Views(connection)
        self.people = People(connection)
        self.sign_ins = SignIns(connection)
        self.labellings = Labellings(connection)
        self.label_steps = LabelSteps(connection)
        self.jobs = Jobs(connection)
        self.workers = Workers(connection)


Writer = Callable[[], str]
"""Returns the name of the person who writes; raises :class:`core.errors.AccessError` if there is none."""


class _Link:
    """The connections of a store, made on first use."""

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

    Processes take a copy each: a store that is pickled opens its own connections on the other side.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.artifacts = Artifacts(settings.home)
        self._link = _Link(settings)
        self._writer: Writer | None = None

    def by(self, writer: Writer) -> Store:
        """The same store, over the same connections, for people: what they write is held to their roles.

        Who it is, and what they may do, is asked anew in every transaction.
        """
        store = Store(self.settings)
        store._link, store._writer = self._link, writer
        return store

    @property
    def for_people(self) -> bool:
        """Whether this store acts for whoever operates the pages, rather than for the owner of the data folder."""
        return self._writer is not None

    @property
    def _engine(self) -> Engine:
        return self._link.engine()

    @property
    def _readers(self) -> Engine:
        return readers_of(self._engine)

    @contextmanager
    def reading(self) -> Iterator[Unit]:
        """A snapshot to read from; never waits for a writer. Nothing can be written through it.

        Raises
        ------
        StoreError
            If the database cannot be reached or is not set up.
        """
        with self._told(), self._readers.connect() as connection:
            yield Unit(connection)

    @contextmanager
    def writing(self) -> Iterator[Unit]:
        """A transaction: committed when the block ends, rolled back when it raises.

        Keep it short: on SQLite there is one writer at a time, and others wait up to 15 seconds. Compute first.

        Raises
        ------
        StoreError
            If the database cannot be reached or written to, is locked for too long, or is not set up.
        AccessError
            If this is a store for people (see :meth:`by`), and the person may not write what the block writes.
        """
        person = None if self._writer is None else self._writer()
        with self._told(), self._engine.begin() as connection:
            unit = Unit(connection)
            if person is not None:
                act_as(connection, unit.people.actor(person))
            yield unit

    def migrate(self) -> None:
        """Bring the tables up to this version, from whatever is there; safe from several processes at once.

        Raises
        ------
        StoreError
            If the store cannot be reached, or was made by a newer version.
        """
        with self._told():
            if up_to_date(self.settings):
                return
            from db.migrate import upgrade

            upgrade(self.settings)

    def remove_unused_artifacts(self) -> list[str]:
        """Remove the files of models that are gone (older than a day). Returns their digests."""
        return self.artifacts.remove_unused(self._artifacts_in_use())

    def unused_artifacts(self) -> list[str]:
        """Digests of the files that belong to no model: of deleted ones, or on their way into the store."""
        return self.artifacts.unused(self._artifacts_in_use())

    def _artifacts_in_use(self) -> set[str]:
        with self._told(), self._readers.connect() as connection:
            return set(connection.execute(sa.select(t.model.c.artifact)).scalars())

    def close(self) -> None:
        """Close the connections; the store opens new ones on the next use."""
        self._link.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._writer is not None:
            raise TypeError("A store for people stays in the process that knows them.")
        return Store, (self.settings,)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Convert driver errors to ``StoreError``."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            told = as_store_error(error, self.settings)
            if told is None:
                raise
            raise told from error
