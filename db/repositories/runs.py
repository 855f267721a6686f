"""Models, benchmarks, maps, runs with their labels, scores and margins, and paper tables."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from themescope.core.errors import ConflictError, DataError, DuplicateNameError, UnknownNameError
from themescope.core.metrics.partition import same_clusters
from themescope.core.records.stored import Json, MapRecord, ModelRecord, RunRecord, ScoreRecord
from themescope.core.types import BenchmarkItem, Ids, Labels, Split
from themescope.db import tables as t
from themescope.db.records import BenchmarkRecord, MapPoints, PaperTableRecord, SentencePlaces
from themescope.db.repositories.corpora import kept_rows, removed_articles
from themescope.db.repositories.triplets import sentence_places
from themescope.db.sql import (
    SPLITS,
    NamedRepository,
    RecordRepository,
    ResultRepository,
    bulk_insert,
    from_bytes,
    id_chunks,
    now,
    plain_rows,
    to_bytes,
    within,
)
from themescope.db.types import NAME_LIMIT, clean_text

Margins = npt.NDArray[np.float32]
Values = npt.NDArray[np.float64]

THEMES = "themes"
"""Kind of the runs that found themes."""
_SCORE = ("run_id", "article_id", "metric", "value", "low", "high", "n")


class Runs(ResultRepository[RunRecord]):
    """Repository of runs with their labels, scores and margins."""

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
        references = {"model_id": model_id, "benchmark_id": benchmark_id, "triplet_set_id": triplet_set_id}
        values = {"corpus_id": corpus_id, "kind": kind, "digest": digest, "clusterer": clusterer, "seed": seed}
        id = self._insert(t.run, **references, **values, config=config or {}, seconds=seconds, created=now())
        labels = [(id, int(article), to_bytes(block, "<i4")) for article, block in (assignments or {}).items()]
        bulk_insert(self.connection, t.assignment, ("run_id", "article_id", "labels"), labels)
        bulk_insert(self.connection, t.score, _SCORE, [_score_row(id, score) for score in scores])
        for split, (ids, numbers) in (margins or {}).items():
            if len(ids) != len(numbers):
                raise DataError(f"{len(ids)} triplets of the {split.value} split have {len(numbers)} margins.")
            blocks = {"triplet_ids": to_bytes(ids, "<i8"), "margins": to_bytes(numbers, "<f4")}
            self.connection.execute(t.margin.insert().values(run_id=id, split=SPLITS.index(split), **blocks))
        return self.get(id)

    def list(
        self,
        benchmark_id: int | None = None,
        model_id: int | None = None,
        kind: str | None = None,
        triplet_set_id: int | None = None,
        corpus_id: int | None = None,
    ) -> list[RunRecord]:
        """Return the runs that match every given argument, oldest first."""
        references = {"benchmark_id": benchmark_id, "model_id": model_id, "triplet_set_id": triplet_set_id}
        return self._matching(**references, kind=kind, corpus_id=corpus_id)

    def themes(self, corpus_id: int | None = None, whole: bool = False) -> builtins.list[RunRecord]:
        """Return the runs that found themes in corpora that are there (in one), oldest first, without other levels.

        With ``whole``, the clusterings of single articles are left out.
        """
        ready = {*self.connection.scalars(sa.select(t.corpus.c.id).where(t.corpus.c.ready))}
        wanted = ready if corpus_id is None else ready & {corpus_id}
        found = [run for run in self.list(kind=THEMES) if run.found.get("corpus_id") in wanted]
        found = [run for run in found if "level_of" not in run.config]
        return [run for run in found if not (whole and run.found.get("article"))]

    def levels(self, run: RunRecord) -> builtins.list[RunRecord]:
        """Return the levels of the themes of a run, itself among them, the one with the fewest themes first.

        Each theme lies inside one theme of every level with fewer. Results of earlier versions have one level.
        """
        first = run.found.get("level_of", run.id)
        found = [one for one in self.list(kind=THEMES) if first in (one.id, one.found.get("level_of"))]
        return sorted(found, key=lambda one: int(one.found.get("level", 0)))

    def get(self, id: int) -> RunRecord:
        """Return a run; raise ``UnknownNameError`` if there is none."""
        return self._now([super().get(id)])[0]

    def _records(self, query: sa.Select[Any]) -> builtins.list[RunRecord]:
        """Return the runs without themes that continue others by removed waves only: they say the same."""
        found = self._now(super()._records(query))
        known = {run.id: run for run in found}
        return [run for run in found if not self._repeats(run, known)]

    def _now(self, runs: Sequence[RunRecord]) -> builtins.list[RunRecord]:
        """Return the runs as they are of the articles that are there now.

        Removed articles count neither in the sizes of themes nor in other numbers, and themes without others are left
        out: the number of a theme is its place among the rest, which :meth:`labels` give as well.
        """
        if not any("themes" in run.config for run in runs):
            return [*runs]
        removed = removed_articles(self.connection)
        return [self._without(run, removed) if len(removed) and "themes" in run.config else run for run in runs]

    def _without(self, run: RunRecord, removed: Ids) -> RunRecord:
        labels, s, config = self._removed_labels(run.id), t.sentence.c, run.config
        if not len(labels):
            return run
        central = [id for theme in config["themes"] for id in theme["central"]]
        inside = within(self.connection, s.id, central) & within(self.connection, s.article_id, removed.tolist())
        lost = {*self.connection.scalars(sa.select(s.id).where(inside))}
        gone = np.bincount(labels[labels >= 0], minlength=len(config["themes"])).tolist()
        themes = [
            {**theme, "size": theme["size"] - number, "central": [id for id in theme["central"] if id not in lost]}
            for theme, number in zip(config["themes"], gone, strict=True)
            if theme["size"] > number
        ]
        sentences = config["sentences"] - len(labels)
        about = {"themes": themes, "sentences": sentences}
        if "sampled_from" in config:
            now = self._number(sa.select(t.corpus.c.sentences).where(t.corpus.c.id == config["corpus_id"]))
            whole = config["sampled_from"] == config["sentences"]
            about["sampled_from"] = sentences if whole else min(config["sampled_from"], now)
        # What was counted among all sentences tells nothing of these.
        known = {key: value for key, value in config.items() if key not in ("distinct", "usual", "frequent")}
        return replace(run, config=known | about)

    def _removed_labels(self, run_id: int) -> Labels:
        """Return the labels (n,) of the sentences of removed articles in a run."""
        c, of = t.assignment.c, t.article.c
        query = sa.select(c.labels).join(t.article, of.id == c.article_id)
        query = query.where(c.run_id == run_id, of.removed.is_not(None))
        parts = [from_bytes(data, "<i4") for data in self.connection.scalars(query)]
        return np.concatenate([np.empty(0, np.int32), *parts])

    def _repeats(self, run: RunRecord, known: Mapping[int, RunRecord]) -> bool:
        """Return whether themes that continue others have only sentences that those have, with the same names."""
        earlier = known.get(run.found.get("continues", 0))
        if earlier is None or earlier.found["sentences"] != run.found["sentences"]:
            return False
        first, other = ([theme["name"] for theme in one.found["themes"]] for one in (run, earlier))
        return first == other

    def _numbers(self, config: Json, run_id: int) -> builtins.list[int]:
        """Return the numbers of the themes of a stored run that have sentences now."""
        if not len(labels := self._removed_labels(run_id)):
            return [*range(len(config["themes"]))]
        gone = np.bincount(labels + 1, minlength=len(config["themes"]) + 1)[1:].tolist()
        return [i for i, theme in enumerate(config["themes"]) if theme["size"] > gone[i]]

    def set_themes(self, run_id: int, themes: Sequence[Mapping[str, Any]], **about: Any) -> None:
        """Replace what people and language models gave the themes of a run: all but sizes and central sentences.

        Themes that another level has, too, change there unless it has another theme of the new name.
        """
        self._set_themes(run_id, themes, about)
        own = self._all_labels(run_id)
        for level in self.levels(self.get(run_id)):
            if level.id == run_id:
                continue
            found, same = level.found["themes"], same_clusters(self._all_labels(level.id), own)
            taken = {theme["name"] for place, theme in enumerate(found) if place not in same}
            new = {place: themes[other] for place, other in same.items() if themes[other]["name"] not in taken}
            self._set_themes(level.id, [new.get(place, theme) for place, theme in enumerate(found)], {})

    def _all_labels(self, run_id: int) -> Labels:
        return np.concatenate([np.empty(0, np.int32), *self.labels(run_id).values()])

    def _set_themes(self, run_id: int, themes: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> None:
        stored = super().get(run_id).config
        every = [*stored["themes"]]
        for number, theme in zip(self._numbers(stored, run_id), themes, strict=True):
            kept = {key: every[number][key] for key in ("size", "central") if key in every[number]}
            every[number] = {**theme, **kept}
        config = {key: value for key, value in {**stored, **about, "themes": every}.items() if value is not None}
        self.connection.execute(t.run.update().where(t.run.c.id == run_id).values(config=config))

    def rename_theme(self, run_id: int, place: int, name: str) -> None:
        """Rename a theme of a result; ``place`` is its place from 0.

        Raises ``DataError`` if the name is empty or too long, ``DuplicateNameError`` if another theme of the result has
        it, and ``UnknownNameError`` if there is no such theme.
        """
        record = self.get(run_id)
        name, themes = clean_text(name).strip(), [dict(theme) for theme in record.found.get("themes", ())]
        if not 0 <= place < len(themes):
            raise UnknownNameError("theme", str(place + 1), [str(i + 1) for i in range(len(themes))])
        if not name or len(name) > NAME_LIMIT:
            raise DataError(f"A theme needs a name of at most {NAME_LIMIT} characters.")
        if any(theme["name"] == name for i, theme in enumerate(themes) if i != place):
            raise DuplicateNameError("theme", name)
        themes[place]["name"] = name
        self.set_themes(run_id, themes)

    # --- results ----------------------------------------------------------------------------------------------------

    def labels(self, run_id: int, article_id: int | None = None) -> dict[int, Labels]:
        """Return article id → labels (of one article), in the order of the benchmark's sentences.

        Without a benchmark, which tells what was measured, removed articles are left out. Labels of themes are their
        places among the themes of :meth:`get`.
        """
        c, of = t.assignment.c, t.article.c
        measured = sa.select(t.run.c.benchmark_id).where(t.run.c.id == run_id).scalar_subquery()
        query = sa.select(c.article_id, c.labels).join(t.article, of.id == c.article_id)
        query = query.where(c.run_id == run_id, of.removed.is_(None) | measured.is_not(None)).order_by(c.article_id)
        if article_id is not None:
            query = query.where(c.article_id == article_id)
        found = {article: from_bytes(data, "<i4") for article, data in self.connection.execute(query)}
        if len(self._removed_labels(run_id)) and "themes" in (stored := super().get(run_id).config):
            place = np.full(len(stored["themes"]) + 1, -1, np.int32)  # the last one is that of the label -1
            numbers = self._numbers(stored, run_id)
            place[numbers] = np.arange(len(numbers))
            return {article: place[labels] for article, labels in found.items()}
        return found

    def scores(self, run_ids: Iterable[int] | Ids, per_article: bool = False) -> builtins.list[ScoreRecord]:
        """Return means with intervals, or values per article, by run."""
        c, found = t.score.c, []
        which = c.article_id.is_not(None) if per_article else c.article_id.is_(None)
        for chunk in id_chunks(run_ids):
            query = sa.select(*(c[name] for name in _SCORE)).where(within(self.connection, c.run_id, chunk), which)
            found += [ScoreRecord(*row) for row in self.connection.execute(query.order_by(c.run_id, c.id))]
        return found

    def of_article(self, article_id: int) -> builtins.list[RunRecord]:
        """Return the runs with labels for the sentences of an article, oldest first, without other levels of themes."""
        labelled = sa.select(t.assignment.c.run_id).where(t.assignment.c.article_id == article_id)
        query = self._select().where(t.run.c.id.in_(labelled)).order_by(t.run.c.id)
        return [run for run in self._records(query) if "level_of" not in run.config]

    def article_values(self, run_ids: Iterable[int] | Ids, metric: str) -> dict[int, tuple[Ids, Values, Ids]]:
        """Return run id → ascending article ids, values of ``metric``, and numbers of items, each of shape (n,).

        Runs without values for single articles are left out.
        """
        c, found = t.score.c, {}
        for chunk in id_chunks(run_ids):
            query = sa.select(c.run_id, c.article_id, c.value, c.n).where(within(self.connection, c.run_id, chunk))
            query = query.where(c.metric == metric, c.article_id.is_not(None))
            cells = chain.from_iterable(plain_rows(self.connection.execute(query)))
            rows = np.fromiter(cells, np.float64).reshape(-1, 4)  # ids are exact below 2⁵³
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
                known, values = from_bytes(ids, "<i8"), from_bytes(margins, "<f4")
                if len(known):
                    order = np.argsort(known, kind="stable")
                    at = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
                    hit = known[order[at]] == wanted
                    found[run][hit] = values[order[at[hit]]]
        return found


def _score_row(run_id: int, score: ScoreRecord) -> tuple[object, ...]:
    numbers = [score.value, *(x for x in (score.low, score.high) if x is not None)]
    if not all(math.isfinite(x) for x in numbers):
        raise DataError(f"The score {score.metric!r} is not a finite number, so it cannot be stored.")
    low, high = (None if x is None else float(x) for x in (score.low, score.high))
    article = None if score.article_id is None else int(score.article_id)
    return run_id, article, score.metric, float(score.value), low, high, int(score.n)


class Papers(RecordRepository[PaperTableRecord]):
    """Repository of paper tables, one per table and profile."""

    table, record = t.paper_table, PaperTableRecord

    def put(self, paper: str, name: str, profile: str, arguments: Json, content: Json) -> PaperTableRecord:
        """Store ``content``; the time changes only if the content does."""
        found = self.find(paper, name, profile)
        if found is not None and (found.content, found.arguments) == (content, arguments):
            return found
        values = {"arguments": arguments, "content": content, "created": now()}
        if found is None:
            return self.get(self._insert(t.paper_table, paper=paper, name=name, profile=profile, **values))
        self.connection.execute(t.paper_table.update().where(t.paper_table.c.id == found.id).values(**values))
        return self.get(found.id)

    def find(self, paper: str, name: str, profile: str) -> PaperTableRecord | None:
        """Return the table as last reproduced, if any."""
        return next(iter(self._matching(paper=paper, name=name, profile=profile)), None)

    def list(self, paper: str | None = None, profile: str | None = None) -> list[PaperTableRecord]:
        """Return all tables (of a paper, of a profile), in order of creation."""
        return self._matching(paper=paper, profile=profile)


class Models(NamedRepository[ModelRecord], ResultRepository[ModelRecord]):
    """Repository of models; their files are artifacts."""

    table, record = t.model, ModelRecord

    def add(
        self,
        *,
        name: str,
        method: str,
        config: Json,
        seed: int,
        digest: str,
        artifact: str,
        corpus_id: int | None = None,
        triplet_set_id: int | None = None,
        metrics: Json | None = None,
        revision: int = 1,
        multilingual: bool = False,
    ) -> ModelRecord:
        """Add a model.

        Raises ``DuplicateNameError`` if the name is taken, and ``ConflictError`` if a model with this digest is stored
        already.
        """
        same = self.by_digest(digest)
        if same is not None:
            raise ConflictError(f"The same model is stored already, as {same.name!r}.")
        values = {"name": self._free_name(t.model, name), "method": method, "config": config, "seed": seed}
        made = {"digest": digest, "artifact": artifact, "metrics": metrics or {}, "created": now()}
        source = {"corpus_id": corpus_id, "triplet_set_id": triplet_set_id}
        return self.get(self._insert(t.model, **values, **made, **source, revision=revision, multilingual=multilingual))

    def list(self, method: str | None = None) -> list[ModelRecord]:
        """Return all models (of one method), oldest first."""
        return self._matching(method=method)

    def set_revision(self, model_id: int, revision: int) -> None:
        """Record the revision of the method that the vectors of a model are computed with from now on."""
        self.connection.execute(t.model.update().where(t.model.c.id == model_id).values(revision=revision))

    def set_multilingual(self, model_id: int, multilingual: bool) -> None:
        """Record whether a model reads many languages."""
        self.connection.execute(t.model.update().where(t.model.c.id == model_id).values(multilingual=multilingual))


_ITEM = ("benchmark_id", "position", "article_id", "sentence_ids", "truth")


class Benchmarks(NamedRepository[BenchmarkRecord], ResultRepository[BenchmarkRecord]):
    """Repository of benchmarks: articles with the true section of each sentence."""

    table, record = t.benchmark, BenchmarkRecord

    def add(
        self,
        corpus_id: int,
        name: str,
        config: Json,
        digest: str,
        counts: Json,
        items: Iterable[BenchmarkItem],
        *,
        revision: int = 1,
    ) -> BenchmarkRecord:
        """Add a benchmark; items keep their order.

        Raises ``DuplicateNameError`` if the name is taken, and ``DataError`` if sentences and true sections of an item
        differ in number.
        """
        values = {"corpus_id": corpus_id, "name": self._free_name(t.benchmark, name), "config": config}
        values |= {"digest": digest, "counts": counts, "created": now(), "revision": revision}
        id = self._insert(t.benchmark, **values)
        rows = []
        for position, item in enumerate(items):
            article, sentences, truth = int(item.article_id), item.sentence_ids, item.truth
            if len(sentences) != len(truth):
                counted = f"{len(sentences)} sentences but {len(truth)} true sections"
                raise DataError(f"Article {article} of a benchmark has {counted}.")
            rows.append((id, position, article, to_bytes(sentences, "<i8"), to_bytes(truth, "<i4")))
        bulk_insert(self.connection, t.benchmark_item, _ITEM, rows)
        return self.get(id)

    def list(self, corpus_id: int | None = None) -> list[BenchmarkRecord]:
        """Return all benchmarks (of one corpus), oldest first."""
        return self._matching(corpus_id=corpus_id)

    def items(self, benchmark_id: int) -> builtins.list[BenchmarkItem]:
        """Return the articles of a benchmark, in order."""
        c = t.benchmark_item.c
        query = sa.select(c.article_id, c.sentence_ids, c.truth).where(c.benchmark_id == benchmark_id)
        return [_item(*row) for row in self.connection.execute(query.order_by(c.position))]

    def article_ids(self, benchmark_id: int) -> builtins.list[int]:
        """Return the ids of the articles of a benchmark, in order."""
        c = t.benchmark_item.c
        query = sa.select(c.article_id).where(c.benchmark_id == benchmark_id).order_by(c.position)
        return [*self.connection.scalars(query)]

    def items_of(self, article_id: int) -> dict[int, BenchmarkItem]:
        """Return benchmark id → the item of an article."""
        c = t.benchmark_item.c
        query = sa.select(c.benchmark_id, c.article_id, c.sentence_ids, c.truth).where(c.article_id == article_id)
        return {id: _item(*row) for id, *row in self.connection.execute(query.order_by(c.benchmark_id))}


def _item(article_id: int, sentence_ids: bytes, truth: bytes) -> BenchmarkItem:
    return BenchmarkItem(article_id, from_bytes(sentence_ids, "<i8"), from_bytes(truth, "<i4"))


class Maps(ResultRepository[MapRecord]):
    """Repository of maps; points are stored as one block per map and fetched only on request."""

    table, record = t.map_, MapRecord

    def add(
        self,
        *,
        corpus_id: int,
        model_id: int,
        name: str,
        config: Json,
        seed: int,
        digest: str,
        faithfulness: float,
        sampled_from: int,
        points: MapPoints,
    ) -> MapRecord:
        """Add a map.

        Raises ``ConflictError`` if a map with this digest is stored already, and ``DataError`` if sentences and
        coordinates differ in number.
        """
        if self.by_digest(digest) is not None:
            raise ConflictError("The same map is stored already.")
        n = len(points.sentence_ids)
        if points.points.shape != (n, 2):
            raise DataError(f"A map of {n} sentences needs {n} × 2 coordinates, not {points.points.shape}.")
        values = {"corpus_id": corpus_id, "model_id": model_id, "name": name, "config": config, "seed": seed}
        about = {"digest": digest, "faithfulness": faithfulness, "sampled_from": sampled_from, "created": now()}
        blocks = {"sentence_ids": to_bytes(points.sentence_ids, "<i8"), "points": to_bytes(points.points, "<f4")}
        return self.get(self._insert(t.map_, **values, **about, **blocks))

    def extend(self, map_id: int, digest: str, points: MapPoints, sampled_from: int) -> MapRecord:
        """Add sentences behind those of a map, whose points stay as they are.

        ``digest`` is that of the new content, and ``sampled_from`` the number of candidates for the new points.
        """
        old = self._by_id(t.map_, [t.map_.c.sentence_ids, t.map_.c.points, t.map_.c.sampled_from], map_id)
        values = {
            "digest": digest,
            "sampled_from": old.sampled_from + sampled_from,
            "sentence_ids": old.sentence_ids + to_bytes(points.sentence_ids, "<i8"),
            "points": old.points + to_bytes(points.points, "<f4"),
        }
        self.connection.execute(t.map_.update().where(t.map_.c.id == map_id).values(**values))
        return self.get(map_id)

    def list(self, corpus_id: int | None = None) -> list[MapRecord]:
        """Return all maps (of one corpus), oldest first."""
        return self._matching(corpus_id=corpus_id)

    def _record(self, row: Any) -> MapRecord:
        """Return a map; the number of its candidates is that of those that are there now."""
        record = super()._record(row)
        if not len(removed_articles(self.connection, record.corpus_id)):
            return record
        stored, points = self._stored(record.id), self.points(record.id)
        if len(stored.sentence_ids) == record.sampled_from:
            return replace(record, sampled_from=len(points.sentence_ids))
        now = self._number(sa.select(t.corpus.c.sentences).where(t.corpus.c.id == record.corpus_id))
        return replace(record, sampled_from=min(record.sampled_from, now))

    def points(self, map_id: int) -> MapPoints:
        """Return ids (n,) and coordinates (n, 2) of the sentences that were not removed."""
        found = self._stored(map_id)
        kept = kept_rows(self.connection, found.sentence_ids)
        return found if kept.all() else MapPoints(found.sentence_ids[kept], found.points[kept])

    def _stored(self, map_id: int) -> MapPoints:
        row = self._by_id(t.map_, [t.map_.c.sentence_ids, t.map_.c.points], map_id)
        return MapPoints(from_bytes(row.sentence_ids, "<i8"), from_bytes(row.points, "<f4").reshape(-1, 2))

    def places(self, sentence_ids: Ids) -> SentencePlaces:
        """Return the positions of sentences in the order of their ids; missing and removed ones are skipped."""
        return sentence_places(self.connection, sentence_ids)
