"""Runs: clusterings, triplet accuracies and other measurements, with labels, scores and margins; and paper tables."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from themescope.core.errors import ConflictError, DataError, DuplicateNameError, UnknownNameError
from themescope.core.types import Ids, Labels, Split
from themescope.db import tables as t
from themescope.db.records import Json, PaperTableRecord, RunRecord, ScoreRecord
from themescope.db.repositories.base import NAME_LIMIT, RecordRepository, Repository
from themescope.db.sql import SPLITS, bulk_insert, from_bytes, id_chunks, now, number_table, to_bytes, within
from themescope.db.types import clean_text

Margins = npt.NDArray[np.float32]
Values = npt.NDArray[np.float64]

_SCORE = ("run_id", "article_id", "metric", "value", "low", "high", "n")


class Runs(RecordRepository[RunRecord]):
    """Repository of runs, identified by digest."""

    table, record = t.run, RunRecord

    def add(
        self,
        *,
        kind: str,
        digest: str,
        model_id: int | None = None,
        benchmark_id: int | None = None,
        triplet_set_id: int | None = None,
        corpus_id: int | None = None,
        clusterer: str = "",
        config: Json | None = None,
        seed: int = 0,
        seconds: float = 0.0,
        assignments: Mapping[int, Labels] | None = None,
        scores: Iterable[ScoreRecord] = (),
        margins: Mapping[Split, tuple[Ids, Margins]] | None = None,
    ) -> RunRecord:
        """Add a run. ``run_id`` of the scores is ignored.

        Raises ``ConflictError`` if a run with this digest is stored already, and ``DataError`` if a score is not finite
        or margins and triplets differ in number.
        """
        if self.by_digest(digest) is not None:
            raise ConflictError("The same run is stored already.")
        references = {
            "model_id": model_id,
            "benchmark_id": benchmark_id,
            "triplet_set_id": triplet_set_id,
            "corpus_id": corpus_id,
        }
        values = {"kind": kind, "digest": digest, "clusterer": clusterer, "config": config or {}, "seed": seed}
        id = self._insert(t.run, **references, **values, seconds=seconds, created=now())
        labels = [(id, int(article), to_bytes(block, "<i4")) for article, block in (assignments or {}).items()]
        bulk_insert(self.connection, t.assignment, ("run_id", "article_id", "labels"), labels)
        bulk_insert(self.connection, t.score, _SCORE, [_score_row(id, score) for score in scores])
        self._add_margins(id, margins or {})
        return self.get(id)

    def _add_margins(self, run_id: int, margins: Mapping[Split, tuple[Ids, Margins]]) -> None:
        for split, (ids, values) in margins.items():
            if len(ids) != len(values):
                raise DataError(f"{len(ids)} triplets of the {split.value} split have {len(values)} margins.")
            row = {
                "split": SPLITS.index(split),
                "triplet_ids": to_bytes(ids, "<i8"),
                "margins": to_bytes(values, "<f4"),
            }
            self.connection.execute(t.margin.insert().values(run_id=run_id, **row))

    def by_digest(self, digest: str) -> RunRecord | None:
        """Return the run with that digest, if any."""
        return self._first(self._select().where(t.run.c.digest == digest))

    def list(
        self,
        benchmark_id: int | None = None,
        model_id: int | None = None,
        kind: str | None = None,
        triplet_set_id: int | None = None,
        corpus_id: int | None = None,
    ) -> list[RunRecord]:
        """Return the runs that match every given argument, oldest first."""
        wanted = {
            "benchmark_id": benchmark_id,
            "model_id": model_id,
            "kind": kind,
            "triplet_set_id": triplet_set_id,
            "corpus_id": corpus_id,
        }
        query = self._select().order_by(t.run.c.id)
        for name, value in wanted.items():
            if value is not None:
                query = query.where(t.run.c[name] == value)
        return self._records(query)

    def set_config(self, run_id: int, config: Json) -> None:
        """Replace the config of a run, where names of themes are; what was computed stays as it is."""
        self.connection.execute(t.run.update().where(t.run.c.id == run_id).values(config=config))

    def rename_theme(self, run_id: int, place: int, name: str) -> None:
        """Rename a theme of a result; ``place`` is its place from 0.

        Raises ``DataError`` if the name is empty or too long, ``DuplicateNameError`` if another theme of the result has
        it, and ``UnknownNameError`` if there is no such theme.
        """
        record = self.get(run_id)
        name, themes = clean_text(name).strip(), [dict(theme) for theme in record.config.get("themes", ())]
        if not 0 <= place < len(themes):
            raise UnknownNameError("theme", str(place + 1), [str(i + 1) for i in range(len(themes))])
        if not name or len(name) > NAME_LIMIT:
            raise DataError(f"A theme needs a name of at most {NAME_LIMIT} characters.")
        if any(theme["name"] == name for i, theme in enumerate(themes) if i != place):
            raise DuplicateNameError("theme", name)
        themes[place]["name"] = name
        self.set_config(run_id, {**record.config, "themes": themes})

    def delete(self, run_id: int) -> None:
        """Delete a run with its labels, scores and margins."""
        self._delete(t.run, run_id)

    # --- results ----------------------------------------------------------------------------------------------------

    def labels(self, run_id: int, article_id: int | None = None) -> dict[int, Labels]:
        """Return article id → labels (of one article), in the order of the benchmark's sentences."""
        c = t.assignment.c
        query = sa.select(c.article_id, c.labels).where(c.run_id == run_id).order_by(c.article_id)
        if article_id is not None:
            query = query.where(c.article_id == article_id)
        return {article: from_bytes(data, "<i4") for article, data in self.connection.execute(query)}

    def scores(self, run_ids: Iterable[int] | Ids, per_article: bool = False) -> builtins.list[ScoreRecord]:
        """Return means with intervals, or values per article, by run."""
        c, found = t.score.c, []
        which = c.article_id.is_not(None) if per_article else c.article_id.is_(None)
        for chunk in id_chunks(run_ids):
            query = sa.select(*(c[name] for name in _SCORE)).where(within(self.connection, c.run_id, chunk), which)
            found += [ScoreRecord(*row) for row in self.connection.execute(query.order_by(c.run_id, c.id))]
        return found

    def of_article(self, article_id: int) -> builtins.list[RunRecord]:
        """Return the runs with labels for the sentences of an article, oldest first."""
        labelled = sa.select(t.assignment.c.run_id).where(t.assignment.c.article_id == article_id)
        query = self._select().where(t.run.c.id.in_(labelled)).order_by(t.run.c.id)
        return self._records(query)

    def article_values(self, run_ids: Iterable[int] | Ids, metric: str) -> dict[int, tuple[Ids, Values, Ids]]:
        """Return run id → ascending article ids, values of ``metric``, and numbers of items, each of shape (n,).

        Runs without values for single articles are left out.
        """
        c, found = t.score.c, {}
        for chunk in id_chunks(run_ids):
            query = sa.select(c.run_id, c.article_id, c.value, c.n).where(
                within(self.connection, c.run_id, chunk), c.metric == metric, c.article_id.is_not(None)
            )
            rows = number_table(self.connection.execute(query), 4)
            rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
            for part in np.split(rows, np.flatnonzero(np.diff(rows[:, 0])) + 1):
                if len(part):
                    found[int(part[0, 0])] = part[:, 1].astype(np.int64), part[:, 2], part[:, 3].astype(np.int64)
        return found

    def margins(self, run_id: int, split: Split) -> tuple[Ids, Margins]:
        """Return triplet ids (n,) and margins d(pivot, negative) - d(pivot, positive) (n,); empty if there are none."""
        c = t.margin.c
        where = c.run_id == run_id, c.split == SPLITS.index(split)
        row = self._row(sa.select(c.triplet_ids, c.margins).where(*where))
        if row is None:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        return from_bytes(row.triplet_ids, "<i8"), from_bytes(row.margins, "<f4")

    def margins_of(self, triplet_ids: Sequence[int] | Ids, run_ids: Iterable[int] | Ids) -> dict[int, Margins]:
        """Return run id → margins (n,) of ``triplet_ids``, NaN where the run has none."""
        wanted = np.asarray(triplet_ids, dtype=np.int64)
        found = {int(run): np.full(len(wanted), np.nan, np.float32) for run in run_ids}
        c = t.margin.c
        for chunk in id_chunks(found):
            query = sa.select(c.run_id, c.triplet_ids, c.margins).where(within(self.connection, c.run_id, chunk))
            for run, ids, margins in self.connection.execute(query):
                _fill(found[run], wanted, from_bytes(ids, "<i8"), from_bytes(margins, "<f4"))
        return found


def _fill(target: Margins, wanted: Ids, ids: Ids, margins: Margins) -> None:
    """Write the margins of the wanted triplets into ``target``."""
    if not len(ids):
        return
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    hit = ids[order[at]] == wanted
    target[hit] = margins[order[at[hit]]]


def _score_row(run_id: int, score: ScoreRecord) -> tuple[object, ...]:
    numbers = [score.value, *(x for x in (score.low, score.high) if x is not None)]
    if not all(math.isfinite(x) for x in numbers):
        raise DataError(f"The score {score.metric!r} is not a finite number, so it cannot be stored.")
    low, high = (None if x is None else float(x) for x in (score.low, score.high))
    article = None if score.article_id is None else int(score.article_id)
    return run_id, article, score.metric, float(score.value), low, high, int(score.n)


_TABLE = [t.paper_table.c[f] for f in PaperTableRecord.__dataclass_fields__]


class Papers(Repository):
    """Repository of paper tables, one per table and profile."""

    def put(self, paper: str, name: str, profile: str, arguments: Json, content: Json) -> PaperTableRecord:
        """Store ``content``; the time changes only if the content does."""
        found = self.get(paper, name, profile)
        if found is not None and (found.content, found.arguments) == (content, arguments):
            return found
        c, values = t.paper_table.c, {"arguments": arguments, "content": content, "created": now()}
        if found is None:
            self._insert(t.paper_table, paper=paper, name=name, profile=profile, **values)
        else:
            self.connection.execute(t.paper_table.update().where(c.id == found.id).values(**values))
        record = self.get(paper, name, profile)
        assert record is not None
        return record

    def get(self, paper: str, name: str, profile: str) -> PaperTableRecord | None:
        """Return the table as last reproduced, if any."""
        c = t.paper_table.c
        row = self._row(sa.select(*_TABLE).where(c.paper == paper, c.name == name, c.profile == profile))
        return None if row is None else PaperTableRecord(*row)

    def list(self, paper: str | None = None, profile: str | None = None) -> list[PaperTableRecord]:
        """Return all tables (of a paper, of a profile), in order of creation."""
        query = sa.select(*_TABLE).order_by(t.paper_table.c.id)
        for name, value in (("paper", paper), ("profile", profile)):
            if value is not None:
                query = query.where(t.paper_table.c[name] == value)
        return [PaperTableRecord(*row) for row in self.connection.execute(query)]
