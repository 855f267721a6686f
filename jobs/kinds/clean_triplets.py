"""Job kind: copy a triplet set without the triplets that reviewers marked as bad. The source is unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from themescope.core.config import digest_of, option
from themescope.core.errors import ConfigError, DataError
from themescope.core.types import Ids, Split, TripletRows
from themescope.db.records import TripletSetRecord, Verdict
from themescope.jobs.common.articles import splits_of
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.kinds.build_triplets import existing_set, set_result, store_triplets

ORIGIN = "cleaned"
"""Key of the source and the removed triplets in the rules of a cleaned set."""


@dataclass(frozen=True)
class CleanTripletsConfig(JobConfig):
    """Arguments of removing triplets."""

    triplets: str = option("", "Name of the triplet set that was reviewed.")
    name: str = option("", "Name of the new triplet set.")
    leave_out: tuple[str, ...] = option(("bad",), "Verdicts of the triplets to remove: bad, ambiguous.")
    people: tuple[str, ...] = option((), "People whose verdicts count; empty: all people.")
    splits: tuple[str, ...] = option(
        ("train", "validation"),
        "Splits to remove triplets from. Test triplets are kept by default, so that results on them can be compared "
        "with those of other models.",
    )

    def validate(self) -> None:
        """Check names, verdicts and splits before the job is queued."""
        self.require("triplets", "name", "leave_out", "splits")
        splits_of(self.splits)
        known = (Verdict.BAD.value, Verdict.AMBIGUOUS.value)
        if not set(self.leave_out) <= set(known):
            raise ConfigError(f"The verdicts of triplets to remove must be {' or '.join(known)}.")

    def title(self) -> str:
        """Return a title with both sets."""
        return f"“{self.name}”: “{self.triplets}” without {' and '.join(self.leave_out)} triplets"


@dataclass(frozen=True)
class _Cleaned:
    """Remaining triplets of a set."""

    rows: dict[Split, TripletRows]
    removed: dict[str, int]
    """Split → number of removed triplets."""
    digest: str


def run(args: CleanTripletsConfig, context: JobContext) -> dict[str, Any]:
    """Store the remaining triplets, unless the same set exists."""
    with context.store.reading() as r:
        source = r.triplets.by_name(args.triplets)
        if not source.ready:
            raise DataError(f"Triplet set {args.triplets!r} is still being sampled. Wait for its job to end.")
        reviews = r.reviews.list(source.id, args.people or None)
    out = np.array(sorted({x.triplet_id for x in reviews if x.verdict in args.leave_out}), dtype=np.int64)
    cleaned = _without(context, source, out, splits_of(args.splits))
    if not sum(cleaned.removed.values()):
        raise DataError(_nothing_to_remove(args))
    existing = existing_set(context, source.corpus_id, args.name, cleaned.digest)
    if existing is not None:
        return _result(existing, cleaned, cached=True)
    config = {**source.config, ORIGIN: _origin(args, source, cleaned)}
    about = source.kind, config, source.seed, cleaned.digest, KINDS.get("clean-triplets").revision
    counts = _counts(source.counts, cleaned)
    made = store_triplets(context, source.corpus_id, args.name, about, cleaned.rows, counts)
    return _result(made, cleaned, cached=False)


def _without(context: JobContext, source: TripletSetRecord, out: Ids, splits: tuple[Split, ...]) -> _Cleaned:
    """Return the remaining rows; the digest covers the source and the removed rows."""
    rows, removed, places = {}, {}, {}
    for done, split in enumerate(Split):
        context.progress(0.1 * done, 1.0, f"Reading the {split.value} triplets")
        with context.store.reading() as r:
            found = r.triplets.rows(source.id, split)
        gone = np.isin(found.ids, out) if split in splits else np.zeros(len(found.ids), bool)
        rows[split] = TripletRows(*(getattr(found, name)[~gone] for name in TripletRows.__slots__))
        removed[split.value], places[split.value] = int(gone.sum()), np.flatnonzero(gone).tolist()
    return _Cleaned(rows, removed, digest_of({"from": source.digest, "without": places}))


def _origin(args: CleanTripletsConfig, source: TripletSetRecord, cleaned: _Cleaned) -> dict[str, Any]:
    return {
        "from": source.name,
        "from_digest": source.digest,
        "left_out": list(args.leave_out),
        "people": list(args.people),
        "splits": list(args.splits),
        "removed": cleaned.removed,
    }


def _counts(before: Mapping[str, Any], cleaned: _Cleaned) -> dict[str, Any]:
    """Return the counts of the source with the numbers of remaining and removed triplets."""
    triplets = {split.value: len(rows.ids) for split, rows in cleaned.rows.items()}
    total = sum(triplets.values())
    dropped = {**before.get("triplets", {}).get("dropped", {}), "reviewed": sum(cleaned.removed.values())}
    counts = {**before, "triplets": {**before.get("triplets", {}), **triplets, "total": total, "dropped": dropped}}
    counts["removed_after_review"] = cleaned.removed
    return counts


def _nothing_to_remove(args: CleanTripletsConfig) -> str:
    whom = " or ".join(person or "the person without a name" for person in args.people) or "anybody"
    return (
        f"No triplet would be removed: none of the split {' or '.join(args.splits)} was marked as "
        f"{' or '.join(args.leave_out)} by {whom}. Review triplets, or choose other splits, verdicts or people."
    )


def _result(made: TripletSetRecord, cleaned: _Cleaned, *, cached: bool) -> dict[str, Any]:
    return {**set_result(made, cached=cached), "removed": cleaned.removed}
