"""What people made of the triplets of a set, a set without the bad ones, and what that changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.types import Ids, Split
from db.records import ModelRecord, TripletReview, TripletSetRecord, Verdict
from jobs.kinds.clean_triplets import ORIGIN
from webapp.features.triplets import cleaning, selection, state
from webapp.shared import people, queries, triplet_queries, triplet_sets
from webapp.shared.choose import COUNTED, nothing
from webapp.shared.job_status import submit
from webapp.shared.model_effects import Effect, show_difference
from webapp.shared.text import ago, count, plain

_NO_MODEL = "no model"
_OUT = {"bad": (Verdict.BAD,), "bad and ambiguous": (Verdict.BAD, Verdict.AMBIGUOUS)}
_KEPT = [Split.TRAIN.value, Split.VALIDATION.value]


def show(sets: Sequence[TripletSetRecord]) -> None:
    """Who reviewed how much, the form for a set without the bad ones, and the sets that were made so."""
    left, _ = st.columns(2)
    with left:
        source = triplet_sets.choose(sets)
    reviews = triplet_queries.reviews(source)
    made = cleaning.cleaned_sets(source, sets)
    if reviews:
        _people(reviews)
        _clean(source, reviews)
    elif not made:
        nothing(
            "Nobody has reviewed a triplet of this set yet.",
            "Open the tab “Look” and judge some by the keys G, B and A; then leave the bad ones out here.",
        )
    for one in made:
        _made(source, one)


def _people(reviews: Mapping[int, Sequence[TripletReview]]) -> None:
    said = [r for listed in reviews.values() for r in listed]
    st.markdown(
        f"**{count(len(reviews), 'triplet')}** reviewed by {count(len({r.person for r in said}), 'person', 'people')}"
    )
    rows = []
    for person in sorted({r.person for r in said}):
        mine = [r for r in said if r.person == person]
        given = {v.value.title(): sum(r.verdict is v for r in mine) for v in Verdict}
        rows.append({"Who": person or people.UNNAMED, **given, "Last": ago(max(r.created for r in mine))})
    counted = {v.value.title(): COUNTED for v in Verdict}
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=counted, width="content")
    with st.container(horizontal=True):
        for verdict in Verdict:
            n = len(selection.reviewed(reviews, None, verdict))
            state.door(f"Read the {n:,} {verdict.value}", n, key=f"called-{verdict}", reviewed=verdict.value)


def _clean(source: TripletSetRecord, reviews: Mapping[int, Sequence[TripletReview]]) -> None:
    """The form: what is left out, from where, and which model is trained again on the rest."""
    st.subheader("Build a set without the bad ones", anchor=False)
    first, second, third = st.columns(3, vertical_alignment="bottom")
    out = first.segmented_control("Leave out what was called", list(_OUT), default="bad", required=True)
    listed = sorted({r.person for said in reviews.values() for r in said})
    whose = second.multiselect(
        "By", listed, default=listed, format_func=lambda p: p or people.UNNAMED,
        help="A triplet is left out as soon as one of them called it so.",
    )  # fmt: skip
    splits = third.multiselect(
        "From the splits", [s.value for s in Split], default=_KEPT,
        help="Leave the test split as it is: results on it can then be compared.",
    )  # fmt: skip
    verdicts = _OUT[out or "bad"]
    gone = _called(reviews, whose, verdicts)
    removed = _told(source, gone, splits)
    _form(source, {"leave_out": [v.value for v in verdicts], "people": whose, "splits": splits}, removed)


def _called(reviews: Mapping[int, Sequence[TripletReview]], whose: Sequence[str], verdicts: Sequence[Verdict]) -> Ids:
    """Triplets that one of these people called one of these."""
    found = [t for t, said in reviews.items() if any(r.person in whose and r.verdict in verdicts for r in said)]
    return np.array(sorted(found), dtype=np.int64)


def _told(source: TripletSetRecord, gone: Ids, splits: Sequence[str]) -> int:
    """Say what would be left out of every split; how many that is."""
    by_split = cleaning.split_counts(source, gone)
    out = {split: n for split, n in by_split.items() if split.value in splits}
    stay = [f"{n:,} of the {split.value} split" for split, n in by_split.items() if n and split not in out]
    parts = [f"**{n:,}** of the {split.value} split" for split, n in out.items()]
    said = f"Leaves out {', '.join(parts) or 'nothing'}."
    if stay:
        said += f" Stay, although called so: {', '.join(stay)}."
    if Split.TEST in out:
        said += " Results on a test split without its hard triplets are not comparable: evaluate on the unchanged set."
    st.caption(said)
    return sum(out.values())


def _form(source: TripletSetRecord, rules: Mapping[str, Sequence[str]], removed: int) -> None:
    models = cleaning.models_trained_on(source)
    taken = {s.name for s in queries.triplet_sets()}
    with st.form(f"clean-{source.id}"):
        left, right = st.columns(2)
        name = left.text_input("Name of the new set", value=_free(f"{source.name} without bad", taken))
        again = right.selectbox(
            "Train again on it", [_NO_MODEL, *(m.name for m in models)],
            help="The same method, settings and seed; then both are evaluated on the unchanged test triplets.",
        )  # fmt: skip
        if not st.form_submit_button(
            "Build the set", type="primary", icon=":material/cleaning_services:", disabled=not removed
        ):
            return
    args = {"triplets": source.name, "name": name.strip(), **rules}
    job = submit("clean-triplets", args, f"Build {name.strip()}")
    if job is None:
        return
    model = next((m for m in models if m.name == again), None)
    if model is None or repeat(source, name.strip(), model, job.id):
        st.rerun()


def repeat(source: TripletSetRecord, on: str, model: ModelRecord, after: int | None = None) -> bool:
    """Queue the same training on the set ``on``, and both models' evaluation on the unchanged test triplets."""
    name = _free(f"{model.name} without bad", {m.name for m in queries.models()})
    args = {
        "method": model.method, "name": name, "triplets": on, "settings": dict(model.config),
        "seed": model.seed,
    }  # fmt: skip
    training = submit("train", args, f"Train {name} as {model.name}", after=after)
    if training is None:
        return False
    return all(_evaluate(source, one, training.id) for one in (name, model.name))


def _evaluate(source: TripletSetRecord, model: str, after: int | None = None) -> bool:
    args = {"model": model, "triplets": source.name, "split": Split.TEST.value}
    return submit("evaluate-triplets", args, f"Triplet accuracy of {model}", after=after) is not None


def _free(wanted: str, taken: set[str]) -> str:
    """``wanted``, or with the first free number behind it."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted} {number}"
    return name


def _made(source: TripletSetRecord, made: TripletSetRecord) -> None:
    """A set that was made so: what was left out, and what became of the models that learned from it."""
    origin = made.config[ORIGIN]
    removed = ", ".join(f"{n:,} {split}" for split, n in origin["removed"].items())
    whose = ", ".join(person or people.UNNAMED for person in origin["people"]) or "anybody"
    with st.container(border=True):
        st.markdown(f"**{plain(made.name)}**")
        st.caption(
            f"Without the triplets that {plain(whose)} called {' or '.join(origin['left_out'])}: {removed} left out. "
            f"Made {ago(made.created)}. The models below are compared on the test triplets of {plain(source.name)}, "
            "which nobody touched."
        )
        found = cleaning.cleaning_effects(source, made)
        for effect in found:
            _effect(source, effect, f"{made.id}-{effect.after.id}")
        if not found:
            _offer(source, made)


def _offer(source: TripletSetRecord, made: TripletSetRecord) -> None:
    """Train a model again, where none was yet."""
    models = {m.name: m for m in cleaning.models_trained_on(source)}
    if not models:
        st.caption(f"No model has learned from {plain(source.name)} yet, so there is nothing to compare with.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Train again on it", list(models), key=f"again-{made.id}")
        if st.button("Train and compare", icon=":material/model_training:", key=f"repeat-{made.id}") and repeat(
            source, made.name, models[name]
        ):
            st.rerun()


def _effect(source: TripletSetRecord, effect: Effect, key: str) -> None:
    if effect.measured is None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"**{plain(effect.after.name)}** is trained; not yet evaluated beside {plain(effect.before.name)}."
            )
            if st.button("Evaluate both", key=f"evaluate-{key}", icon=":material/play_arrow:") and all(
                _evaluate(source, m.name) for m in (effect.before, effect.after)
            ):
                st.rerun()
        return
    found = effect.measured
    show_difference(effect, found, ("All triplets", "Without the bad ones"))

    def beside() -> None:
        st.session_state.update(view="Margins", model=found.after.name, against=found.before.name)

    st.button("See both side by side", key=f"beside-{key}", icon=":material/compare_arrows:", on_click=beside)
