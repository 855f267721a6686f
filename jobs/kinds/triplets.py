"""Job kinds of triplet sets: sample from a corpus or from labels, and copy a set without bad triplets.

The same request returns the stored set. From labellings, only sentences that a person assigned are used, without the
pairs on which people contradict each other, and without articles of the test split (see
``themescope.core.labelling.learning``).
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.config import config_from_dict, digest_of, option
from themescope.core.errors import ConfigError, DataError, DuplicateNameError, UnknownNameError
from themescope.core.labelling.learning import LabelContradiction, Placed, contradictions, labelled_triplets
from themescope.core.records.stored import Json, LabellingRecord
from themescope.core.triplets.rules import TripletRules, fold
from themescope.core.types import Split, TripletRows, split_of_title
from themescope.db.records import TripletSetRecord, Verdict
from themescope.db.store import Store
from themescope.jobs.common.articles import StoredArticles, file_digest, ready_corpus, splits_of, titles_of, work_digest
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.labelled import judged_sentences
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.kinds.import_corpus import ImportConfig, import_corpus

BATCH_ROWS = 20_000


@dataclass(frozen=True)
class TripletsConfig(JobConfig):
    """Arguments of sampling triplets."""

    TITLE = "Sample triplets “{name}” from “{corpus}”"

    corpus: str = option("", "Name of the corpus to sample from.", required=True)
    name: str = option("", "Name of the new triplet set.", required=True)
    kind: str = option(
        "sentences", "Texts compared with the pivot: sentences or section titles.", choices=("sentences", "titles")
    )
    rules: Mapping[str, Any] = option({}, "Rules; default: those of the paper.")
    seed: int = option(0, "Seed of the sampling.", low=0)
    splits: tuple[str, ...] = option(("train", "validation", "test"), "Splits to sample.")
    without: tuple[str, ...] = option((), "Names of corpora whose articles are excluded, compared by title.")

    def validate(self) -> None:
        """Check rules and splits before the job is queued."""
        config_from_dict(TripletRules, self.rules)
        splits_of(self.splits)


def build_triplets(args: TripletsConfig, context: JobContext) -> dict[str, Any]:
    """Sample and store the triplets, unless the same set exists."""
    from themescope.core.triplets.sample import sample_triplets

    store, corpus = context.store, ready_corpus(context.store, args.corpus)
    rules, splits = config_from_dict(TripletRules, args.rules), splits_of(args.splits)
    config = rules.to_dict() | {"splits": [s.value for s in splits]}
    if args.without:
        config |= {"without": sorted(args.without)}
    revision = KINDS.get("build-triplets").revision
    with store.reading() as r:
        known = r.triplets.list(corpus.id)
    for found in known:
        stored = TripletRules.current_names(found.config)
        if (found.kind, found.seed, stored, found.revision) == (args.kind, args.seed, config, revision):
            return set_result(found, cached=True)
    clear_leftover(context, args.name)
    articles = StoredArticles(store, corpus, splits, without=titles_of(store, args.without))
    sampled = sample_triplets(articles, args.kind, rules, args.seed, context.part(0.0, 0.8, "Sampling"))
    if len(sampled) == 0:
        numbers = sampled.counts["articles"]
        raise DataError(
            f"No triplets can be sampled from {corpus.name!r}: {numbers['qualifying']} of {numbers['seen']} articles "
            "have enough sections. Triplets need articles with several sections of several paragraphs; "
            "lower min_sections or min_tokens, or import longer articles."
        )
    about = args.kind, config, args.seed, sampled.digest, revision
    made = store_triplets(context, corpus.id, args.name, about, sampled.rows, sampled.counts)
    return set_result(made, cached=False)


@dataclass(frozen=True)
class ImportTripletsConfig(JobConfig):
    """Arguments of importing triplets."""

    TITLE = "Import the triplets “{name}”"

    file: str = option(
        "",
        "CSV or JSON lines file with the columns pivot, positive, negative, and perhaps group.",
        file=True,
        required=True,
    )
    name: str = option("", "Name of the new triplet set, and of the new project with its sentences.", required=True)
    language: str = option("en", "Language of the text, as a two-letter code.")


def import_triplets(args: ImportTripletsConfig, context: JobContext) -> dict[str, Any]:
    """Store the sentences of a file as a project and its triplets as a set; a tenth each for validation and test.

    Triplets of a group, by default those that share sentences, are one article, which is in one split.
    """
    from themescope.core.triplets.sample import divided, grouped, read_triplets

    texts = grouped(read_triplets(Path(args.file)))
    parts, owner = divided(texts), dict[str, str]()
    columns = texts.pivots, texts.positives, texts.negatives
    for group, *three in zip(texts.groups.tolist(), *columns, strict=True):
        for text in three:
            owner.setdefault(" ".join(text.split()), f"{args.name}, group {group + 1}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sentences.csv")
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([("sentence", "group"), *owner.items()])
        table = {"text": "sentence", "title": "group", "rows": "sentences"}
        whole = ImportConfig((str(path),), args.name, args.language, reader="table", settings=table)
        with context.store.reading() as r:  # an attempt that was killed may have imported the sentences
            known = [
                c.id
                for c in r.corpora.list()
                if c.name == args.name
                and not r.triplets.list(c.id)
                and c.report.get("file_digests") == [file_digest(path)]
            ]
        corpus_id = known[0] if known else int(import_corpus(whole, context)["corpus_id"])
    with context.store.reading() as r:
        articles = r.corpora.articles(corpus_id, limit=len(owner))
        sentences = r.corpora.sentences_of([article.id for article in articles])
    ids = {fold(one.text): one for part in sentences.values() for one in part}
    found = np.array([[ids[fold(text)].id for text in column] for column in columns])
    owners = np.array([ids[fold(text)].article_id for text in texts.pivots])
    rows = {split: TripletRows(np.zeros(len(at), np.int64), owners[at], *found[:, at]) for split, at in parts.items()}
    content, numbers = digest_of([*columns, texts.groups.tolist()]), {s.value: len(at) for s, at in parts.items()}
    about = _KIND, {"file": Path(args.file).name}, 0, content, KINDS.get("import-triplets").revision
    clear_leftover(context, args.name)
    made = store_triplets(context, corpus_id, args.name, about, rows, {"triplets": {**numbers, "total": len(texts)}})
    return set_result(made, cached=False) | {"corpus": args.name}


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
    done, total = 0, sum(len(part.pivots) for part in rows.values())
    try:
        for split, part in rows.items():
            for start in range(0, len(part.pivots), BATCH_ROWS):
                batch = slice(start, start + BATCH_ROWS)
                piece = TripletRows(*(getattr(part, field)[batch] for field in TripletRows.__slots__))
                with context.writing() as w:
                    w.triplets.add(record.id, split, piece)
                done += len(piece.pivots)
                context.progress(0.8 + 0.2 * done / total, 1.0, f"{done:,} of {total:,} triplets stored")
    except Exception:
        with context.writing() as w:
            w.triplets.delete(record.id)
        raise
    with context.writing() as w:
        return w.triplets.finish(record.id, counts)


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


def set_result(record: TripletSetRecord, cached: bool) -> dict[str, Any]:
    """Return the result of a job that created or found a set."""
    about = {"triplets": record.name, "triplet_set_id": record.id, "digest": record.digest}
    return {**about, "cached": cached, "counts": dict(record.counts)}


ORIGIN = "cleaned"
"""Key of the source and the removed triplets in the rules of a cleaned set."""


@dataclass(frozen=True)
class CleanTripletsConfig(JobConfig):
    """Arguments of removing triplets."""

    triplets: str = option("", "Name of the triplet set that was reviewed.", required=True)
    name: str = option("", "Name of the new triplet set.", required=True)
    leave_out: tuple[str, ...] = option(("bad",), "Verdicts of the triplets to remove: bad, ambiguous.", required=True)
    people: tuple[str, ...] = option((), "People whose verdicts count; empty: all people.")
    splits: tuple[str, ...] = option(
        ("train", "validation"),
        "Splits to remove triplets from. Test triplets are kept by default, so that results on them can be compared "
        "with those of other models.",
        required=True,
    )

    def validate(self) -> None:
        """Check verdicts and splits before the job is queued."""
        splits_of(self.splits)
        known = (Verdict.BAD.value, Verdict.AMBIGUOUS.value)
        if not set(self.leave_out) <= set(known):
            raise ConfigError(f"The verdicts of triplets to remove must be {' or '.join(known)}.")

    def title(self) -> str:
        """Return a title with both sets."""
        return f"Leave {' and '.join(self.leave_out)} triplets out of “{self.triplets}” as “{self.name}”"


def clean_triplets(args: CleanTripletsConfig, context: JobContext) -> dict[str, Any]:
    """Store the remaining triplets, unless the same set exists."""
    with context.store.reading() as r:
        source = r.triplets.by_name(args.triplets)
        if not source.ready:
            raise DataError(f"Triplet set {args.triplets!r} is still being sampled. Wait for its job to end.")
        reviews = r.reviews.list(source.id, args.people or None)
    out = np.array(sorted({x.triplet_id for x in reviews if x.verdict in args.leave_out}), dtype=np.int64)
    rows, removed, places = dict[Split, TripletRows](), dict[str, int](), {}
    for done, split in enumerate(Split):
        context.progress(0.1 * done, 1.0, f"Reading the {split.value} triplets")
        with context.store.reading() as r:
            found = r.triplets.rows(source.id, split)
        gone = np.isin(found.ids, out) & (split in splits_of(args.splits))
        rows[split] = TripletRows(*(getattr(found, name)[~gone] for name in TripletRows.__slots__))
        removed[split.value], places[split.value] = int(gone.sum()), np.flatnonzero(gone).tolist()
    if not sum(removed.values()):
        whom = " or ".join(person or "the person without a name" for person in args.people) or "anybody"
        raise DataError(
            f"No triplet would be removed: none of the split {' or '.join(args.splits)} was marked as "
            f"{' or '.join(args.leave_out)} by {whom}. Review triplets, or choose other splits, verdicts or people."
        )
    digest = digest_of({"from": source.digest, "without": places})
    existing = existing_set(context, source.corpus_id, args.name, digest)
    if existing is not None:
        return set_result(existing, cached=True) | {"removed": removed}
    origin: dict[str, Any] = {"from": source.name, "from_digest": source.digest, "left_out": list(args.leave_out)}
    origin |= {"people": list(args.people), "splits": list(args.splits), "removed": removed}
    card = KINDS.get("clean-triplets")
    about = source.kind, {**source.config, ORIGIN: origin}, source.seed, digest, card.revision
    before = source.counts.get("triplets", {})
    triplets = {split.value: len(part.ids) for split, part in rows.items()}
    triplets |= {"total": sum(triplets.values())}
    dropped = {**before.get("dropped", {}), "reviewed": sum(removed.values())}
    counts = {**source.counts, "triplets": {**before, **triplets, "dropped": dropped}, "removed_after_review": removed}
    made = store_triplets(context, source.corpus_id, args.name, about, rows, counts)
    return set_result(made, cached=False) | {"removed": removed}


_KIND = "sentences"


@dataclass(frozen=True)
class LearnConfig(JobConfig):
    """Arguments of a triplet set from labels."""

    labellings: tuple[str, ...] = option((), "Names of the labellings, all of one corpus.")
    name: str = option("", "Name of the new triplet set.", required=True)
    per_sentence: int = option(5, "Maximum number of triplets per assigned sentence.", low=1, high=100)
    seed: int = option(0, "Seed of the sampling.", low=0)

    def validate(self) -> None:
        """Check that labellings are given."""
        if not self.labellings:
            raise ConfigError("Choose at least one coding.")

    def title(self) -> str:
        """Return a title with set and labellings."""
        return f"Sample triplets “{self.name}” from labels of {', '.join(f'“{name}”' for name in self.labellings)}"


@dataclass(frozen=True, slots=True)
class TrainingLabels:
    """Labels of one corpus to sample from, collected from its labellings."""

    records: tuple[LabellingRecord, ...]
    placed: tuple[Placed, ...]
    contradictions: tuple[LabelContradiction, ...]


def training_labels(store: Store, names: tuple[str, ...]) -> TrainingLabels:
    """Return the labels that people gave in these labellings, and their contradictions."""
    records, placed = [], []
    for name in names:
        with store.reading() as r:
            record = r.labellings.by_name(name)
            state = r.labellings.snapshot(record.id).partition
            placed.append(Placed(state, judged_sentences(r, record, state)))
        records.append(record)
    if len({record.corpus_id for record in records}) > 1:
        raise DataError("These codings are of different projects. Sample one triplet set per project.")
    return TrainingLabels(tuple(records), tuple(placed), tuple(contradictions(placed)))


def placed_for_training(store: Store, found: TrainingLabels) -> int:
    """Return how many of the placed sentences are in articles of the training split."""
    with store.reading() as r:
        sentences = [r.corpora.sentences_by_id(placed.ids) for placed in found.placed]
        articles = r.corpora.articles_by_id({s.article_id for part in sentences for s in part.values()})
    return sum(split_of_title(articles[s.article_id].title) is Split.TRAIN for part in sentences for s in part.values())


def learn_labels(args: LearnConfig, context: JobContext) -> dict[str, Any]:
    """Sample and store the triplets; the same labels give the same set."""
    context.progress(0.0, 1, "Reading labels")
    found = training_labels(context.store, args.labellings)
    barred = [(c.first, c.second) for c in found.contradictions]
    parts: list[dict[Split, TripletRows]] = []
    for placed in found.placed:
        with context.store.reading() as r:
            sentences = r.corpora.sentences_by_id(placed.partition.ids)
            articles = r.corpora.articles_by_id({s.article_id for s in sentences.values()})
        article_of = {i: s.article_id for i, s in sentences.items()}
        titles = {i: article.title for i, article in articles.items()}
        parts.append(labelled_triplets(placed, article_of, titles, barred, args.per_sentence, args.seed))
    rows = {split: joined([part[split] for part in parts]) for split in parts[0]}
    total = {split.value: len(part.pivots) for split, part in rows.items()}
    if not total[Split.TRAIN.value]:
        raise DataError(
            "These labels give no training triplets: assign sentences of articles in the training split. Labels of "
            "test articles are not used for training."
        )
    number = sum(len(placed.ids) for placed in found.placed)
    counts = {"triplets": {**total, Split.TEST.value: 0}, "placed": number, "contradictions": len(found.contradictions)}
    with context.store.reading() as r:
        steps = {record.name: r.labellings.newest_step(record.id) for record in found.records}
    config = {"from": "labels", "labellings": steps, "per_sentence": args.per_sentence}
    card, pivots = KINDS.get("learn-labels"), [part.pivots.tolist() for part in rows.values()]
    digest = work_digest(card, config=config, seed=args.seed, pivots=pivots)
    about = _KIND, config, args.seed, digest, card.revision
    existing = existing_set(context, found.records[0].corpus_id, args.name, digest)
    if existing is not None:
        return set_result(existing, cached=True)
    made = store_triplets(context, found.records[0].corpus_id, args.name, about, rows, counts)
    return set_result(made, cached=False)


def joined(parts: list[TripletRows]) -> TripletRows:
    """Concatenate blocks of triplets."""
    return TripletRows(*(np.concatenate([getattr(p, name) for p in parts]) for name in TripletRows.__slots__))
