"""Evaluations of models on triplet sets, the triplets of a set as arrays, and the effect of other training triplets.

Sets, runs and artifacts never change; every cache key has a time of creation. Arrays may have half a million rows, are
shared between sessions and are never written to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.metrics.statistics import PairedTest, paired_test
from themescope.core.metrics.triplets import correctness
from themescope.core.models import REGISTRY
from themescope.core.records.stored import ModelRecord, RunRecord
from themescope.core.types import Ids, Split, TripletRows
from themescope.db.records import TripletSetRecord
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.text import count, plain, score, with_interval

Margins = npt.NDArray[np.float32]
ACCURACY = "triplet accuracy"
"""Metric of evaluations on triplet sets."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The margins of one model on one split of a triplet set."""

    run: RunRecord
    model: ModelRecord
    alone: bool
    """Whether it is the only evaluation of this model on the set."""

    @property
    def split(self) -> Split:
        """Split that the model was evaluated on."""
        return Split(self.run.config["split"])

    @property
    def name(self) -> str:
        """Return the model's name, with the split if the model has several evaluations."""
        if self.alone:
            return self.model.name
        return f"{self.model.name} ({', '.join((self.split, *_variants(self.run)))})"

    @property
    def model_name(self) -> str:
        """Return the model's name, the same for all splits."""
        variants = ", ".join(_variants(self.run))
        return f"{self.model.name} ({variants})" if variants else self.model.name

    @property
    def unit(self) -> str:
        """Return the distance by which the margins were computed."""
        if "relatedness" in self.run.config:
            return "predicted relatedness"
        if "needs-triplets" not in REGISTRY.get(self.model.method).tags:  # others may import PyTorch
            return "the model's own distance"
        measured = getattr(REGISTRY.configure(self.model.method, self.model.config), "measured", "")
        return f"{_DISTANCES[measured]} distance" if measured in _DISTANCES else "the model's own distance"


_DISTANCES = {"l1": "L1", "l2": "L2", "cosine": "cosine", "mean-l1": "mean L1"}


def _variants(run: RunRecord) -> tuple[str, ...]:
    """Return how an evaluation differs from distances of sentences that are embedded without their article."""
    parts = {"by relatedness": "relatedness" in run.config, "with the article": bool(run.config.get("context"))}
    return tuple(words for words, applies in parts.items() if applies)


def evaluations(chosen: TripletSetRecord) -> list[Evaluation]:
    """Return the newest evaluation of every model on every split of a set, in every variant, newest first."""
    models = {model.id: model for model in queries.models()}
    newest: dict[tuple[int, str, tuple[str, ...]], RunRecord] = {}
    for run in queries.read(lambda r: r.runs.list(kind="triplets", triplet_set_id=chosen.id))[::-1]:
        if run.model_id in models:
            newest.setdefault((run.model_id, run.config["split"], _variants(run)), run)
    of_model = [model for model, _, _ in newest]
    return [Evaluation(run, models[key[0]], of_model.count(key[0]) == 1) for key, run in newest.items()]


def best_first(found: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the evaluations with the highest accuracy first; those on the test split before all others."""
    means = queries.mean_scores(e.run.id for e in found)
    accuracies = {id: scores[ACCURACY].value for id, scores in means.items() if ACCURACY in scores}
    return sorted(found, key=lambda e: (e.split is not Split.TEST, -accuracies.get(e.run.id, 0.0)))


HASHES = {**queries.HASHES, Evaluation: lambda evaluation: (evaluation.run.id, evaluation.run.created)}


@st.cache_resource(show_spinner=False, max_entries=32, hash_funcs=HASHES)
def margins(evaluation: Evaluation) -> tuple[Ids, Margins]:
    """Return (n,) triplet ids in ascending order and (n,) margins, without triplets of removed documents."""
    with queries.store().reading() as r:
        ids, values = r.runs.margins(evaluation.run.id, evaluation.split)
        there = r.triplets.ids(evaluation.run.triplet_set_id or 0, evaluation.split)
    _, _, order = np.intersect1d(there, ids, assume_unique=True, return_indices=True)
    return ids[order], values[order]


@st.cache_resource(show_spinner="Reading triplets …", max_entries=12, hash_funcs=HASHES)
def _rows(chosen: TripletSetRecord, split: Split) -> TripletRows:
    return queries.read(lambda r: r.triplets.rows(chosen.id, split))


def rows(chosen: TripletSetRecord, split: Split | None) -> TripletRows:
    """Return the triplets of a split (None: of all splits) as arrays of ids."""
    parts = [_rows(chosen, one) for one in splits_of(split)]
    if len(parts) == 1:
        return parts[0]
    return TripletRows(*(np.concatenate([getattr(part, name) for part in parts]) for name in TripletRows.__slots__))


@st.cache_resource(show_spinner="Reading triplets …", max_entries=12, hash_funcs=HASHES)
def ids(chosen: TripletSetRecord, split: Split | None) -> Ids:
    """Return the ids of :func:`rows` alone, which is faster."""
    return queries.read(lambda r: r.triplets.ids(chosen.id, split))


def splits_of(split: Split | None) -> Sequence[Split]:
    """Return one split, or all of them for None."""
    return [*Split] if split is None else [split]


def on_same_triplets(first: Evaluation, second: Evaluation, chosen: TripletSetRecord) -> tuple[Margins, Margins, Ids]:
    """Return the margins of two evaluations on their common triplets, and the article of each triplet."""
    (a_ids, a), (b_ids, b) = margins(first), margins(second)
    shared, at_a, at_b = np.intersect1d(a_ids, b_ids, assume_unique=True, return_indices=True)
    known = rows(chosen, first.split)
    order = np.argsort(known.ids)
    return a[at_a], b[at_b], known.articles[order[np.searchsorted(known.ids, shared, sorter=order)]]


def split_count(record: TripletSetRecord, split: Split) -> int:
    """Return the number of triplets of a set in a split."""
    value = record.counts.get(split.value, record.counts.get("triplets", {}))
    if isinstance(value, Mapping):
        value = value.get("triplets", value.get(split.value, 0))
    return int(value)


@dataclass(frozen=True, slots=True)
class Measured:
    """Triplet accuracy of both models on the test split of one set."""

    before: Evaluation
    after: Evaluation
    accuracy_before: float
    accuracy_after: float
    test: PairedTest
    """Difference after - before, over articles."""


@dataclass(frozen=True, slots=True)
class TrainingEffect:
    """A model, and one retrained or fine-tuned on other triplets."""

    before: ModelRecord
    after: ModelRecord
    measured: Measured | None
    """None until both are evaluated on the set."""


def effect(source: TripletSetRecord, before: ModelRecord, after: ModelRecord) -> TrainingEffect:
    """Compare two models on the test triplets of a set, if both are evaluated on them."""
    found = [e for e in evaluations(source) if e.split is Split.TEST]
    on_test = {e.model.id: e for e in found if not e.run.config.get("context")}  # without the article
    first, second = on_test.get(before.id), on_test.get(after.id)
    measured = None if first is None or second is None else _measured(source, first, second)
    return TrainingEffect(before, after, measured)


@st.cache_data(show_spinner="Comparing the two models …", max_entries=32, hash_funcs=HASHES)
def _measured(source: TripletSetRecord, before: Evaluation, after: Evaluation) -> Measured:
    a, b, articles = on_same_triplets(after, before, source)
    means = float(correctness(b).mean()), float(correctness(a).mean())
    return Measured(before, after, *means, paired_test(correctness(a), correctness(b), articles))


def evaluate(chosen: TripletSetRecord, models: Sequence[str], after: int | None = None) -> bool:
    """Queue the evaluation of models on the test triplets of a set; return whether all are queued."""
    args = {"triplets": chosen.name, "split": Split.TEST.value}
    return all(
        submit("evaluate-triplets", args | {"model": model}, f"Triplet accuracy of {model}", after=after) is not None
        for model in models
    )


def show_effect(source: TripletSetRecord, effect: TrainingEffect, labels: tuple[str, str]) -> None:
    """Draw the accuracy before and after under the names ``labels``, and the difference with its interval.

    Until both models are evaluated, a button evaluates them.
    """
    before, after, found = effect.before.name, effect.after.name, effect.measured
    if found is None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(after)}** is trained, but not yet compared with {plain(before)}.")
            key = f"evaluate-{source.id}-{effect.after.id}"
            if st.button("Evaluate both", key=key, icon=":material/play_arrow:") and evaluate(source, (before, after)):
                st.rerun()
        return
    gap = found.test.difference
    accuracies = score(found.accuracy_before), score(found.accuracy_after), with_interval(gap)
    columns = {"": [*labels, "Difference"], "Model": [before, after, ""], "Triplet accuracy": [*accuracies]}
    draw_table(columns, width="content")
    significant = "not significant" if gap.low <= 0 <= gap.high else "significant at the 5 % level"
    st.caption(
        f"Difference with a 95 % interval (paired bootstrap over {count(gap.n, 'article')}); Wilcoxon over articles "
        f"p = {found.test.p:.2g}: {significant}. Each model was trained once; other seeds would vary."
    )
