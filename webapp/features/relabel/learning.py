"""Learning from a labelling: triplets of what people placed, a network that goes on with them, what that changes."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.labelling.learning import GENTLE
from core.types import Split
from db.label_records import LabellingRecord
from db.records import ModelRecord, TripletSetRecord
from jobs.kinds import learn_labels
from webapp.shared import label_queries, lesson_effects, queries, triplet_effects
from webapp.shared.choose import nothing
from webapp.shared.effect import difference
from webapp.shared.job_status import submit
from webapp.shared.text import ago, count, interval, plain, score

_METHOD = "triplets-sen"


def learn(record: LabellingRecord) -> None:
    """From corrections to a network that has learned from them, and what that changed on articles of the test split."""
    with st.expander("Learn from what people placed here", icon=":material/school:"):
        names = (record.name, *_together_with(record))
        found = learn_labels.lessons(queries.store(), names)
        placed = sum(len(part.ids) for part in found.placed)
        st.markdown(
            f"{count(placed, 'sentence')} placed by people. Each becomes triplets: the sentence, another of its "
            "cluster, one of another cluster. What a labelling merely began with teaches nothing, and neither does "
            "anything in articles of the test split."
        )
        if found.contradictions:
            _contradictions(found)
        sets = queries.triplet_sets()
        _teach(record, names, placed, lesson_effects.measuring(record.corpus_id, sets))
        for taught in lesson_effects.taught_by(record, sets):
            _taught(record, taught, lesson_effects.measuring(record.corpus_id, sets))


def _together_with(record: LabellingRecord) -> list[str]:
    """Other labellings of the corpus that teach as well, if there are any and somebody chooses them."""
    if record.blind:
        return []
    able = [x.name for x in label_queries.labellings(record.corpus_id) if x.id != record.id and not x.blind]
    return st.multiselect("Together with", able, key=f"together-{record.id}", help=_TOGETHER) if able else []


_TOGETHER = "Labellings of the same corpus. Pairs of sentences on which people contradict each other teach nothing."


def _contradictions(found: learn_labels.Lessons) -> None:
    """Pairs of sentences that some put together and others apart, with who says what."""
    shown = found.contradictions[:_LISTED]
    with queries.store().reading() as r:
        texts = r.corpora.sentences_by_id(np.unique([i for c in shown for i in (c.first, c.second)]))
    names = [record.name for record in found.records]
    frame = pd.DataFrame(
        {
            "One sentence": [texts[c.first].text for c in shown],
            "Another": [texts[c.second].text for c in shown],
            "Together in": [", ".join(names[n] for n in c.together) for c in shown],
            "Apart in": [", ".join(names[n] for n in c.apart) for c in shown],
        }
    )
    listed = f"; the first {len(shown):,}" if len(found.contradictions) > len(shown) else ""
    st.markdown(f"**{count(len(found.contradictions), 'contradiction')}**, used neither way{listed}:")
    st.dataframe(frame, hide_index=True, height=min(40 + 35 * len(shown), 260))


_LISTED = 200


def _teach(record: LabellingRecord, names: Sequence[str], placed: int, held_out: Sequence[TripletSetRecord]) -> None:
    """Triplets alone, or at once with a network that goes on with them."""
    first = record.name
    name = st.text_input("Name of the triplet set", value=f"{first} taught"[:180], key=f"learn-{first}")
    networks, measures = {m.name: m for m in lesson_effects.beginnings()}, {s.name: s for s in held_out}
    left, right = st.columns(2)
    going_on = left.selectbox(
        "Network that goes on with them",
        [None, *networks],
        format_func=lambda n: n or "None: only make the triplets",
        key=f"going-on-{first}",
        disabled=not measures,
        help="Its words, shape and distance stay; it changes gently, at a tenth of the usual rate.",
    )
    measure = right.selectbox(
        "Measured on the test triplets of",
        list(measures),
        key=f"measure-{first}",
        help="Their validation triplets say when training stops. Nobody's labels are among them.",
        placeholder="No triplet set has test triplets",
    )
    asked = st.button(
        "Teach" if going_on else "Make triplets",
        icon=":material/school:" if going_on else ":material/change_history:",
        disabled=not placed,
    )
    if not asked:
        return
    wanted = (name or "").strip()
    job = submit("learn-labels", {"labellings": list(names), "name": wanted}, f"Triplets from “{first}”")
    if job is not None and (not going_on or _go_on(record, networks[going_on], wanted, measures[str(measure)], job.id)):
        st.success("Asked for. The triplets are on the page Triplets when they are made; what changes is told here.")


def _go_on(record: LabellingRecord, network: ModelRecord, on: str, measure: TripletSetRecord, after: int) -> bool:
    """Queue the training, and after it what tells its effect: both evaluations, both models' vectors of the corpus."""
    name = _free(f"{network.name} + {on}", {m.name for m in queries.models()})
    args = {
        "method": _METHOD, "name": name, "triplets": on, "validation": measure.name, "models": [network.name],
        "settings_json": json.dumps(dict(GENTLE)),
    }  # fmt: skip
    training = submit("train", args, f"Train {name}", after=after)
    both = (network.name, name)
    return training is not None and _evaluate(measure, both, training.id) and _embed(record, both, training.id)


def _embed(record: LabellingRecord, models: Sequence[str], after: int | None = None) -> bool:
    """Vectors for the sentences that nobody placed; the taught network then makes suggestions as well."""
    with queries.store().reading() as r:
        corpus = r.corpora.get(record.corpus_id).name
    return all(
        submit("embed", {"corpus": corpus, "model": model}, f"Embed {corpus} by {model}", after=after) is not None
        for model in models
    )


def _evaluate(measure: TripletSetRecord, models: Sequence[str], after: int | None = None) -> bool:
    args = {"triplets": measure.name, "split": Split.TEST.value}
    return all(
        submit("evaluate-triplets", args | {"model": model}, f"Triplet accuracy of {model}", after=after) is not None
        for model in models
    )


def _free(wanted: str, taken: set[str]) -> str:
    """``wanted``, cut to what a name may be, or with the first free number behind it."""
    name, number = wanted[:180], 1
    while name in taken:
        number += 1
        name = f"{wanted[:180]} {number}"
    return name


def _taught(record: LabellingRecord, taught: TripletSetRecord, held_out: Sequence[TripletSetRecord]) -> None:
    """One set that this labelling taught, and what became of the networks that went on with it."""
    with st.container(border=True):
        st.markdown(f"**{plain(taught.name)}**")
        counts = taught.counts
        st.caption(
            f"{count(counts['triplets']['train'], 'training triplet')} from "
            f"{count(counts['placed'], 'placed sentence')} of {count(len(taught.config['labellings']), 'labelling')}; "
            f"{count(counts['contradictions'], 'contradiction')} left out. Made {ago(taught.created)}."
        )
        pairs = lesson_effects.learners(taught)
        if not pairs:
            st.caption("No network has gone on with it yet.")
        elif not held_out:
            nothing("There is nothing to measure it on.", "Sample triplets of a corpus.", "triplets", "Triplets")
        for before, after in pairs:
            _changed(before, after, held_out)
            _rest(record, before, after)


def _changed(before: ModelRecord, after: ModelRecord, held_out: Sequence[TripletSetRecord]) -> None:
    """The effect on every set on which both were measured, or the offer to measure it."""
    effects = [triplet_effects.effect(source, before, after) for source in held_out]
    known = [(source, e, e.measured) for source, e in zip(held_out, effects, strict=True) if e.measured is not None]
    for source, effect, measured in known:
        st.caption(f"On the test triplets of {plain(source.name)}:")
        difference(effect, measured, ("Before", "With the labels"))
    if not known and held_out:
        st.markdown(f"**{plain(after.name)}** is trained; not yet measured beside {plain(before.name)}.")
        if st.button("Evaluate both", key=f"evaluate-{after.id}", icon=":material/play_arrow:"):
            _evaluate(held_out[0], (before.name, after.name))


def _rest(record: LabellingRecord, before: ModelRecord, after: ModelRecord) -> None:
    """What changed for the sentences of this labelling that nobody placed."""
    try:
        found = lesson_effects.on_the_rest(record, before, after)
    except LookupError:
        if st.button("Measure the sentences that nobody placed", key=f"rest-{after.id}", icon=":material/play_arrow:"):
            _embed(record, (before.name, after.name))
        return
    if found is not None:
        gap = found.test.difference
        st.caption(
            f"On {count(gap.n, 'sentence')} that nobody placed here, a sentence of the same section is nearer than one "
            f"of another section in {score(found.before)} of all pairs before, {score(found.after)} with the labels, "
            f"by cosine: {interval(gap.value, gap.low, gap.high)}, over sentences; Wilcoxon p = {found.test.p:.2g}."
        )
