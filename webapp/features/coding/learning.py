"""Training on a labelling, with its measured effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import streamlit as st

from themescope.core.labelling.learning import FINE_TUNING_SETTINGS, section_separation
from themescope.core.metrics.statistics import PairedTest, paired_test
from themescope.core.models import REGISTRY as METHODS
from themescope.core.records.stored import JobStatus, LabellingRecord, ModelRecord
from themescope.core.types import Split
from themescope.db.records import TripletSetRecord
from themescope.jobs.common.models import built_on
from themescope.jobs.kinds import triplets
from themescope.jobs.services.search import MOST_WITH_VECTORS, models_for, vectors_of
from themescope.webapp.shared import compare_queries, queries, triplet_queries
from themescope.webapp.shared.choose import fine_tunable, nothing
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.text import ago, count, plain, score, with_interval
from themescope.webapp.shared.triplet_queries import split_count

_MAX_NAME = 180


def show(record: LabellingRecord) -> None:
    """Draw the form that trains on a labelling, and the results of earlier trainings."""
    names = (record.name, *_other_labellings(record))
    found = triplets.training_labels(queries.store(), names)
    placed = sum(len(part.ids) for part in found.placed)
    st.markdown(
        f"{count(placed, 'unit')} coded by people. The model learns that each is nearer to a unit of its code than "
        "to one of another code. Codes that nobody changed are not used, nor is any text of the test split."
    )
    if found.contradictions:
        _contradictions(found)
    training = triplets.placed_for_training(queries.store(), found)
    if placed and not training:
        st.warning(
            "None of these units is in a text of the training split, so there is nothing to train on. "
            "Code units of a text in the training split.",
            icon=":material/warning:",
        )
    sets = queries.triplet_sets()
    both = (Split.VALIDATION, Split.TEST)
    usable = [s for s in sets if s.kind == "sentences" and all(split_count(s, split) for split in both)]
    # Sets of other corpora are safe too, because the split of an article depends on its title alone.
    held_out = sorted(usable, key=lambda s: s.corpus_id != record.corpus_id)
    _form(record, names, training, held_out)
    own = [s for s in sets if s.config.get("from") == "labels" and record.name in s.config.get("labellings", {})]
    for made in reversed(own):
        _results(record, made, held_out)


def _other_labellings(record: LabellingRecord) -> list[str]:
    """Return the names of the other labellings of the corpus that are to be used as well."""
    known = [] if record.blind else compare_queries.labellings(record.corpus_id)
    names = [x.name for x in known if x.id != record.id and not x.blind]
    help = "Codings of the same project. Pairs of units on which people contradict each other are not used."
    return st.multiselect("Also use", names, key=f"code_train_others_{record.id}", help=help) if names else []


def _contradictions(found: triplets.TrainingLabels) -> None:
    shown = found.contradictions[:200]
    texts = queries.sentences(np.unique([i for c in shown for i in (c.first, c.second)]))
    names = [record.name for record in found.records]
    listed = f"; showing {len(shown):,}" if len(found.contradictions) > len(shown) else ""
    st.markdown(f"**{count(len(found.contradictions), 'contradiction')}** excluded from training{listed}:")
    draw_table(
        {
            "First unit": [texts[c.first].text for c in shown],
            "Second unit": [texts[c.second].text for c in shown],
            "Together in": [", ".join(names[n] for n in c.together) for c in shown],
            "Apart in": [", ".join(names[n] for n in c.apart) for c in shown],
        },
        height=min(40 + 35 * len(shown), 260),
    )


def _form(
    record: LabellingRecord, labellings: Sequence[str], training: int, held_out: Sequence[TripletSetRecord]
) -> None:
    key = f"code_train_{record.id}"
    name = st.text_input("Name of the triplet set", value=f"{record.name} labels"[:_MAX_NAME], key=f"{key}_name")
    models, sets = {m.name: m for m in fine_tunable(queries.models())}, {s.name: s for s in held_out}
    left, right = st.columns(2)
    base = left.selectbox(
        "Fine-tune",
        [None, *models],
        format_func=lambda n: n or "No model: only make triplets",
        key=f"{key}_model",
        disabled=not sets,
        help="Vocabulary, architecture and distance stay the same; the learning rate is a tenth of the usual one.",
    )
    evaluated_on = right.selectbox(
        "Evaluate on",
        list(sets),
        key=f"{key}_evaluate",
        help="Early stopping uses the validation triplets of this set, and the result is measured on its test "
        "triplets. Neither contains any labels.",
        placeholder="No triplet set has test triplets",
    )
    label, icon = ("Fine-tune", ":material/school:") if base else ("Make triplets", ":material/change_history:")
    if not st.button(label, icon=icon, disabled=not training):
        return
    wanted = (name or "").strip()
    job = submit("learn-labels", {"labellings": list(labellings), "name": wanted}, f"Triplets from “{record.name}”")
    if job is not None and (not base or _fine_tune(record, models[base], wanted, sets[str(evaluated_on)], job.id)):
        st.success("Job queued. The triplets will appear on the Triplets page, and results here.")


def _fine_tune(record: LabellingRecord, base: ModelRecord, on: str, measure: TripletSetRecord, after: int) -> bool:
    """Queue the training, and after it the evaluation of both models and their vectors of the corpus."""
    name = queries.usable_model_name(f"{base.name} + {on}"[:_MAX_NAME])
    args = {
        "method": METHODS.tagged("trains-on-labels")[0].id,
        "name": name,
        "triplets": on,
        "validation": measure.name,
        "models": [base.name],
        "settings": dict(FINE_TUNING_SETTINGS),
    }
    training, both = submit("train", args, f"Train {name}", after=after), (base.name, name)
    if training is None or not triplet_queries.evaluate(measure, both, training.id):
        return False
    return _embed(record, both, training.id)


def _embed(record: LabellingRecord, models: Sequence[str], after: int | None = None) -> bool:
    """Queue the vectors of the whole corpus, by which the models are compared and make suggestions."""
    corpus = queries.read(lambda r: r.corpora.get(record.corpus_id).name)
    return all(
        submit("embed", {"corpus": corpus, "model": model}, f"Embed {corpus} by {model}", after=after) is not None
        for model in models
    )


def _results(record: LabellingRecord, made: TripletSetRecord, held_out: Sequence[TripletSetRecord]) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(made.name)}**")
        counts = made.counts
        st.caption(
            f"{count(counts['triplets']['train'], 'training triplet')} from "
            f"{count(counts['placed'], 'placed unit')} of {count(len(made.config['labellings']), 'coding')}; "
            f"{count(counts['contradictions'], 'contradiction')} excluded. Created {ago(made.created)}."
        )
        after = [m for m in queries.models() if m.triplet_set_id == made.id]
        pairs = [(before, m) for m in after[::-1] for before in built_on(queries.store(), m)]
        trained = queries.read(lambda r: [j for j in r.jobs.list(kind="train") if j.args.get("triplets") == made.name])
        if trained and trained[0].status is JobStatus.FAILED:  # the newest: it says what to try
            st.error(plain(trained[0].error), icon=":material/error:")
        elif not pairs:
            st.caption("No model has been fine-tuned on this set yet.")
        elif not held_out:
            nothing("No test triplets to evaluate on.", "Build a triplet set first.", "triplets", "Open Triplets")
        for before, model in pairs:
            effects = [(source, triplet_queries.effect(source, before, model)) for source in held_out]
            for source, effect in [pair for pair in effects if pair[1].measured is not None] or effects[:1]:
                if effect.measured is not None:
                    st.caption(f"On the test triplets of {plain(source.name)}:")
                triplet_queries.show_effect(source, effect, ("Before", "After"))
            _unplaced_effect(record, before, model)


def _unplaced_effect(record: LabellingRecord, before: ModelRecord, after: ModelRecord) -> None:
    try:
        found = effect_on_unplaced(record, before, after)
    except LookupError:
        if st.button("Compare on unplaced units", key=f"code_train_rest_{after.id}", icon=":material/play_arrow:"):
            _embed(record, (before.name, after.name))
        return
    if found is not None:
        gap = found.test.difference
        st.caption(
            f"On {count(gap.n, 'unit')} that nobody placed, a unit of the same section is nearer than one of "
            f"another section in {score(found.before)} of all pairs before and {score(found.after)} after "
            f"fine-tuning (cosine): difference {with_interval(gap)}, 95 % interval over units; "
            f"Wilcoxon p = {found.test.p:.2g}."
        )


class UnplacedEffect(NamedTuple):
    """Two models on the sentences that nobody placed, judged by the sections of these sentences."""

    before: float
    after: float
    """Mean shares of pairs in which a sentence of the same section is nearer than one of another section."""
    test: PairedTest
    """Of after - before, over sentences."""


def effect_on_unplaced(record: LabellingRecord, before: ModelRecord, after: ModelRecord) -> UnplacedEffect | None:
    """Compare two models on the sentences that nobody placed; None where these are too few or too many.

    Raises ``LookupError`` if one of the models has no vectors of the sentences yet.
    """
    store = queries.store()
    (placed,) = triplets.training_labels(store, (record.name,)).placed
    ids = np.setdiff1d(placed.partition.ids, placed.ids)
    if not 1 < len(ids) <= MOST_WITH_VECTORS:
        return None
    with store.reading() as r:
        known = r.corpora.sentences_by_id(ids)
    articles, sections = (np.array([getattr(known[int(i)], n) for i in ids]) for n in ("article_id", "section"))
    with_vectors = {m.id for m in models_for(store, record.corpus_id, set(articles.tolist()))}
    if not {before.id, after.id} <= with_vectors:
        raise LookupError(record.name)
    shares = [section_separation(vectors_of(store, m.id, ids), articles, sections) for m in (before, after)]
    usable = ~np.isnan(shares[0])
    if usable.sum() < 2:
        return None
    first, second = (s[usable] for s in shares)
    return UnplacedEffect(float(first.mean()), float(second.mean()), paired_test(second, first))
