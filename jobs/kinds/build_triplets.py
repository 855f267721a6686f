"""Job kind: sample a triplet set from a corpus. The same request returns the stored set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from themescope.core.config import config_from_dict, option
from themescope.core.errors import DataError, DuplicateNameError, UnknownNameError
from themescope.core.types import Split, TripletRows
from themescope.db.records import CorpusRecord, Json, TripletSetRecord
from themescope.jobs.common.articles import StoredArticles, ready_corpus, splits_of, titles_of
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.kinds import REGISTRY as KINDS

BATCH_ROWS = 20_000


@dataclass(frozen=True)
class TripletsConfig(JobConfig):
    """Arguments of sampling triplets."""

    corpus: str = option("", "Name of the corpus to sample from.")
    name: str = option("", "Name of the new triplet set.")
    kind: str = option(
        "sentences", "Texts compared with the pivot: sentences or section titles.", choices=("sentences", "titles")
    )
    rules: Mapping[str, Any] = option({}, "Rules; default: those of the paper.")
    seed: int = option(0, "Seed of the sampling.", low=0)
    splits: tuple[str, ...] = option(("train", "validation", "test"), "Splits to sample.")
    without: tuple[str, ...] = option((), "Names of corpora whose articles are excluded, compared by title.")

    def validate(self) -> None:
        """Check names, rules and splits before the job is queued."""
        from themescope.core.triplets.rules import TripletRules

        self.require("corpus", "name")
        config_from_dict(TripletRules, self.rules)
        splits_of(self.splits)

    def title(self) -> str:
        """Return a title with set and corpus."""
        return f"Sample triplets “{self.name}” from “{self.corpus}”"


def run(args: TripletsConfig, context: JobContext) -> dict[str, Any]:
    """Sample and store the triplets, unless the same set exists."""
    from themescope.core.triplets.rules import TripletRules
    from themescope.core.triplets.sample import sample_triplets

    store, corpus = context.store, ready_corpus(context.store, args.corpus)
    rules, splits = config_from_dict(TripletRules, args.rules), splits_of(args.splits)
    config = rules.to_dict() | {"splits": [s.value for s in splits]}
    if args.without:
        config |= {"without": sorted(args.without)}
    existing = _existing(context, corpus, args, config)
    if existing is not None:
        return set_result(existing, cached=True)
    articles = StoredArticles(store, corpus, splits, without=titles_of(store, args.without))
    sampled = sample_triplets(articles, args.kind, rules, args.seed, context.part(0.0, 0.8, "Sampling"))
    if len(sampled) == 0:
        raise DataError(_no_triplets(corpus, sampled.counts))
    about = args.kind, config, args.seed, sampled.digest(), KINDS.get("build-triplets").revision
    made = store_triplets(context, corpus.id, args.name, about, sampled.rows, sampled.counts)
    return set_result(made, cached=False)


def store_triplets(
    context: JobContext,
    corpus_id: int,
    name: str,
    about: tuple[str, Json, int, str, int],
    rows: dict[Split, TripletRows],
    counts: Json,
) -> TripletSetRecord:
    """Store a set in batches, as 0.8…1 of the job, and show it; on failure, remove it.

    ``about`` is its kind, rules, seed, digest and revision.
    """
    with context.writing() as w:
        record = w.triplets.create(corpus_id, name, *about)
    try:
        _add(context, record.id, rows)
    except Exception:
        with context.writing() as w:
            w.triplets.delete(record.id)
        raise
    with context.writing() as w:
        return w.triplets.finish(record.id, counts)


def _existing(
    context: JobContext, corpus: CorpusRecord, args: TripletsConfig, config: dict[str, Any]
) -> TripletSetRecord | None:
    """Return the same set if it exists; remove leftovers of a killed attempt."""
    from themescope.core.triplets.rules import TripletRules

    wanted = args.kind, args.seed, config, KINDS.get("build-triplets").revision
    with context.store.reading() as r:
        for found in r.triplets.list(corpus.id):
            stored = TripletRules.current_names(found.config)
            if (found.kind, found.seed, stored, found.revision) == wanted:
                return found
    clear_leftover(context, args.name)
    return None


def existing_set(context: JobContext, corpus_id: int, name: str, digest: str) -> TripletSetRecord | None:
    """Return the set of a corpus with that digest, if any; remove leftovers of a killed attempt."""
    with context.store.reading() as r:
        found = r.triplets.by_digest(corpus_id, digest)
    if found is None:
        clear_leftover(context, name)
    return found


def clear_leftover(context: JobContext, name: str) -> None:
    """Remove leftovers under a name; raise :class:`DuplicateNameError` if a finished set has it."""
    with context.store.reading() as r:
        try:
            taken = r.triplets.by_name(name)
        except UnknownNameError:
            return
    if taken.ready:
        raise DuplicateNameError("triplet set", name)
    with context.writing() as w:
        w.triplets.delete(taken.id)


def _add(context: JobContext, set_id: int, rows: dict[Split, TripletRows]) -> None:
    total = sum(len(part.pivots) for part in rows.values())
    done = 0
    for split, part in rows.items():
        for start in range(0, len(part.pivots), BATCH_ROWS):
            piece = TripletRows(*(getattr(part, name)[start : start + BATCH_ROWS] for name in TripletRows.__slots__))
            with context.writing() as w:
                w.triplets.add(set_id, split, piece)
            done += len(piece.pivots)
            context.progress(0.8 + 0.2 * done / total, 1.0, f"{done:,} of {total:,} triplets stored")


def _no_triplets(corpus: CorpusRecord, counts: dict[str, Any]) -> str:
    articles = counts["articles"]
    return (
        f"No triplets can be sampled from {corpus.name!r}: {articles['qualifying']} of {articles['seen']} articles "
        "have enough sections. Triplets need articles with several sections of several paragraphs; "
        "lower min_sections or min_tokens, or import longer articles."
    )


def set_result(record: TripletSetRecord, cached: bool) -> dict[str, Any]:
    """Return the result of a job that created or found a set."""
    about = {"triplets": record.name, "triplet_set_id": record.id, "digest": record.digest}
    return {**about, "cached": cached, "counts": dict(record.counts)}
