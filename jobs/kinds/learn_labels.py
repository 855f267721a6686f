"""Job kind: sample a triplet set from the clusters of labellings.

Only sentences that a person assigned are used, without the pairs on which people contradict each other, and without
articles of the test split (see ``themescope.core.labelling.learning``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from themescope.core.config import option
from themescope.core.errors import ConfigError, DataError
from themescope.core.labelling.learning import (
    LabelContradiction,
    Placed,
    contradictions,
    labelled_triplets,
)
from themescope.core.types import Split, TripletRows, split_of_title
from themescope.db.label_records import LabellingRecord
from themescope.db.store import Store
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.labelled.placed import judged_sentences
from themescope.jobs.common.results import work_digest
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.kinds.build_triplets import existing_set, set_result, store_triplets

KIND = "sentences"


@dataclass(frozen=True)
class LearnConfig(JobConfig):
    """Arguments of a triplet set from labels."""

    labellings: tuple[str, ...] = option((), "Names of the labellings, all of one corpus.")
    name: str = option("", "Name of the new triplet set.")
    per_sentence: int = option(5, "Maximum number of triplets per assigned sentence.", low=1, high=100)
    seed: int = option(0, "Seed of the sampling.", low=0)

    def validate(self) -> None:
        """Check that labellings and a name are given."""
        self.require("name")
        if not self.labellings:
            raise ConfigError("Choose at least one labelling.")

    def title(self) -> str:
        """Return a title with set and labellings."""
        return f"Triplets “{self.name}” from labels of {', '.join(f'“{name}”' for name in self.labellings)}"


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
        raise DataError("These labellings are of different corpora. Sample one triplet set per corpus.")
    return TrainingLabels(tuple(records), tuple(placed), tuple(contradictions(placed)))


def placed_for_training(store: Store, found: TrainingLabels) -> int:
    """Return how many of the placed sentences are in articles of the training split."""
    with store.reading() as r:
        sentences = [r.corpora.sentences_by_id(placed.ids) for placed in found.placed]
        articles = r.corpora.articles_by_id({s.article_id for part in sentences for s in part.values()})
    return sum(split_of_title(articles[s.article_id].title) is Split.TRAIN for part in sentences for s in part.values())


def run(args: LearnConfig, context: JobContext) -> dict[str, Any]:
    """Sample and store the triplets; the same labels give the same set."""
    context.progress(0.0, 1, "Reading labels")
    found = training_labels(context.store, args.labellings)
    rows = _rows(context.store, found, args)
    total = {split.value: len(part.pivots) for split, part in rows.items()}
    if not total[Split.TRAIN.value]:
        raise DataError(
            "These labels give no training triplets: assign sentences of articles in the training split. Labels of "
            "test articles are not used for training."
        )
    counts = {
        "triplets": {**total, Split.TEST.value: 0},
        "placed": sum(len(p.ids) for p in found.placed),
        "contradictions": len(found.contradictions),
    }
    steps = {record.name: _last_step(context.store, record.id) for record in found.records}
    config = {"from": "labels", "labellings": steps, "per_sentence": args.per_sentence}
    card, pivots = KINDS.get("learn-labels"), [part.pivots.tolist() for part in rows.values()]
    digest = work_digest(card, config=config, seed=args.seed, pivots=pivots)
    about = KIND, config, args.seed, digest, card.revision
    existing = existing_set(context, found.records[0].corpus_id, args.name, digest)
    if existing is not None:
        return set_result(existing, cached=True)
    made = store_triplets(context, found.records[0].corpus_id, args.name, about, rows, counts)
    return set_result(made, cached=False)


def _rows(store: Store, found: TrainingLabels, args: LearnConfig) -> dict[Split, TripletRows]:
    barred = [(c.first, c.second) for c in found.contradictions]
    parts: list[dict[Split, TripletRows]] = []
    for placed in found.placed:
        with store.reading() as r:
            sentences = r.corpora.sentences_by_id(placed.partition.ids)
            articles = r.corpora.articles_by_id({s.article_id for s in sentences.values()})
        article_of = {i: s.article_id for i, s in sentences.items()}
        titles = {i: article.title for i, article in articles.items()}
        parts.append(labelled_triplets(placed, article_of, titles, barred, args.per_sentence, args.seed))
    return {split: joined([part[split] for part in parts]) for split in parts[0]}


def joined(parts: list[TripletRows]) -> TripletRows:
    """Concatenate blocks of triplets."""
    import numpy as np

    return TripletRows(*(np.concatenate([getattr(p, name) for p in parts]) for name in TripletRows.__slots__))


def _last_step(store: Store, labelling_id: int) -> int:
    """Return the last step of a labelling, as provenance."""
    with store.reading() as r:
        return r.labellings.snapshot(labelling_id).step
