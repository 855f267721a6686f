"""Accuracy of a model before and after its training data changed, measured on the same test triplets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pandas as pd
import streamlit as st

from core.metrics.statistics.paired_tests import PairedTest, paired_test
from core.metrics.triplets import correctness
from core.types import Ids, Split
from db.records import ModelRecord, TripletSetRecord
from webapp.shared import triplet_queries
from webapp.shared.text import count, interval, score
from webapp.shared.triplet_queries import Evaluation, Margins


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
class Effect:
    """A model, and one retrained or fine-tuned on other triplets."""

    before: ModelRecord
    after: ModelRecord
    measured: Measured | None
    """None until both are evaluated on the set."""


def effect(source: TripletSetRecord, before: ModelRecord, after: ModelRecord) -> Effect:
    """Compare two models on the test triplets of a set, if both are evaluated on them."""
    on_test = {e.model.id: e for e in triplet_queries.evaluations(source) if e.split is Split.TEST}
    first, second = on_test.get(before.id), on_test.get(after.id)
    measured = None if first is None or second is None else _measured(source, first, second)
    return Effect(before, after, measured)


def _measured(source: TripletSetRecord, before: Evaluation, after: Evaluation) -> Measured:
    a, b, articles = triplet_queries.on_same_triplets(after, before, source)
    runs = (after.run.id, after.run.created), (before.run.id, before.run.created)
    means = float(correctness(b).mean()), float(correctness(a).mean())
    return Measured(before, after, *means, _tested(*runs, a, b, articles))


@st.cache_data(show_spinner="Comparing the two models …", max_entries=32)
def _tested(
    after: tuple[int, datetime], before: tuple[int, datetime], _a: Margins, _b: Margins, _articles: Ids
) -> PairedTest:
    return paired_test(correctness(_a), correctness(_b), _articles)


def show_difference(effect: Effect, found: Measured, labels: tuple[str, str]) -> None:
    """Draw the accuracy before and after under the names ``labels``, and the difference with its interval."""
    gap = found.test.difference
    accuracies = score(found.accuracy_before), score(found.accuracy_after), interval(gap.value, gap.low, gap.high)
    frame = pd.DataFrame(
        {
            "": [*labels, "Difference"],
            "Model": [effect.before.name, effect.after.name, ""],
            "Triplet accuracy": [*accuracies],
        }
    )
    st.dataframe(frame, hide_index=True, width="content")
    significant = "not significant" if gap.low <= 0 <= gap.high else "significant at the 5 % level"
    st.caption(
        f"Difference with a 95 % interval (paired bootstrap over {count(gap.n, 'article')}); Wilcoxon over articles "
        f"p = {found.test.p:.2g}: {significant}. Each model was trained once; other seeds would vary."
    )
