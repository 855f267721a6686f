"""Sets and Reviews tabs: triplet sets, the form for a new one, and sets without the triplets judged bad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.models import REGISTRY
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.triplets.rules import TripletRules
from themescope.core.types import Split
from themescope.db.records import TripletReview, TripletSetRecord, Verdict
from themescope.jobs.kinds.triplets import ORIGIN
from themescope.webapp.features import triplets
from themescope.webapp.features.triplets import (
    MARGIN_MODEL,
    MODEL,
    NO_MODEL,
    ORDER,
    SECOND_MODEL,
    SET,
    SET_DETAILS,
    SPLIT,
    filters,
)
from themescope.webapp.features.triplets import queries as page_queries
from themescope.webapp.shared import choose, forms, people, projects, queries
from themescope.webapp.shared.choose import by_name, clickable, grouped, nothing
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.forms import checked, config_fields
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.triplet_queries import (
    Evaluation,
    TrainingEffect,
    best_first,
    effect,
    evaluate,
    evaluations,
    show_effect,
    split_count,
)
from themescope.webapp.shared.text import ago, count, plain

_KINDS = {"sentences": "Sentences", "titles": "Section titles and sentences"}


def choose_set(listed: Sequence[TripletSetRecord]) -> TripletSetRecord:
    """Return the chosen one of at least one set, the same on every tab."""
    return by_name("Triplet set", listed, SET, lambda s: s.name)


def show(listed: Sequence[TripletSetRecord]) -> None:
    """Draw all sets, and the details of the chosen one."""
    names = {c.id: c.name for c in queries.corpora()}
    chosen = clickable(
        listed, SET_DETAILS, lambda s: s.name,
        {
            "Set": [s.name for s in listed],
            "Corpus": [names.get(s.corpus_id, "") for s in listed],
            "Kind": [s.kind for s in listed],
            **{split.value.title(): [split_count(s, split) for s in listed] for split in Split},
            "Seed": [s.seed for s in listed],
            "Created": [ago(s.created) for s in listed],
        },
    )  # fmt: skip
    st.subheader(plain(chosen.name), anchor=False)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Kept and excluded by rule**")
        forms.facts_table(chosen.counts, ("Item", "Count"), height=430)
    with right:
        st.markdown("**Rules**")
        rules = {**TripletRules.current_names(chosen.config), "seed": chosen.seed}
        forms.facts_table(rules, ("Rule", "Value"), height=430)
    choose.delete_button(
        "set", chosen.name, "its reviews and the accuracies measured on it", lambda r: r.triplets.delete(chosen.id)
    )


def no_sections(corpus: CorpusRecord) -> None:
    """Draw the empty state of a project whose texts have no sections, with a link to one that has some."""
    other = next((record for record in projects.by_activity(queries.corpora()) if record.has_sections), None)
    advice = "A triplet compares sentences of two sections of an article; these texts are not divided into sections."
    link = f"Triplets of {other.name}" if other is not None else "Import articles with sections"
    view = {"corpus": other.name} if other is not None else {"view": "Import"}
    nothing(f"“{corpus.name}” has no sections.", advice, "triplets" if other is not None else "texts", link, view)


def form(corpus: CorpusRecord) -> None:
    """Draw the form for a new set."""
    kind = st.segmented_control(
        "Positive and negative",
        list(_KINDS),
        format_func=_KINDS.__getitem__,
        default="sentences",
        required=True,
        help="“Triplet network on sentences” is trained on sentences, “on section titles” on section titles.",
    )
    with st.form(f"triplets_new_set_{corpus.id}_{kind}"):
        left, middle, right = st.columns([2, 1, 2])
        name = left.text_input("Name", value=f"{corpus.name} {kind}")
        seed = middle.number_input("Seed", min_value=0, value=0, step=1)
        splits = right.multiselect("Splits", [s.value for s in Split], default=[s.value for s in Split])
        values = config_fields(TripletRules, f"triplets_new_set_rules_{corpus.id}_{kind}")
        st.caption(f"{plain(corpus.name)} has {count(corpus.articles, 'article')}.")
        if not st.form_submit_button("Build set", type="primary", icon=":material/change_history:"):
            return
    rules = checked(TripletRules, values)
    if rules is None:
        return
    args = {
        "corpus": corpus.name,
        "name": name.strip(),
        "kind": kind,
        "rules": rules.to_dict(),
        "seed": int(seed),
        "splits": splits,
    }
    if submit("build-triplets", args, f"Triplets {args['name']}"):
        st.rerun()


def choose_with_evaluations(listed: Sequence[TripletSetRecord]) -> tuple[TripletSetRecord, list[Evaluation]]:
    """Draw the choice of a set, of an evaluation and of a second one to compare with; [] if the set has none."""
    columns = st.columns(3)
    with columns[0]:
        chosen = choose_set(listed)
    found = evaluations(chosen)
    if not found:
        nothing(
            "No evaluated model yet.",
            "Evaluate a model on this set on the Compare page, tab “Triplet accuracy”.",
            "compare",
            "Open Compare",
        )
        return chosen, []
    with columns[1]:
        first = by_name("Model", grouped(best_first(found), lambda e: e.model.method), MODEL, lambda e: e.name)
    others = [e for e in found if e.split is first.split and e.run.id != first.run.id]
    options: list[Evaluation | None] = [None, *others]
    with columns[2]:
        second = by_name("Compare with", options, SECOND_MODEL, lambda e: NO_MODEL if e is None else e.name)
    return chosen, [first] if second is None else [first, second]


def evaluation_filter(evaluation: Evaluation) -> dict[str, Any]:
    """Return the filter settings for the triplets of an evaluation, lowest margin first."""
    return {SPLIT: evaluation.split.value, MARGIN_MODEL: evaluation.model_name, ORDER: "wrong"}


# --- reviews ----------------------------------------------------------------------------------------------------------


def cleaned_sets(source: TripletSetRecord, sets: Sequence[TripletSetRecord]) -> list[TripletSetRecord]:
    """Return the sets made from ``source`` by excluding triplets, newest first."""
    found = [s for s in sets if s.corpus_id == source.corpus_id and s.config.get(ORIGIN, {}).get("from") == source.name]
    return [s for s in found if s.config[ORIGIN]["from_digest"] == source.digest][::-1]


def models_trained_on(source: TripletSetRecord) -> list[ModelRecord]:
    """Return the models trained on the triplets of a set, newest first."""
    return [
        m
        for m in queries.models()
        if m.triplet_set_id == source.id and m.method in REGISTRY and "needs-triplets" in REGISTRY.get(m.method).tags
    ][::-1]


def cleaning_effects(source: TripletSetRecord, cleaned: TripletSetRecord) -> list[TrainingEffect]:
    """Compare every model trained on ``cleaned`` with the one trained with the same settings on ``source``."""
    before = {_settings(m): m for m in reversed(models_trained_on(source))}
    pairs = [(before[_settings(m)], m) for m in models_trained_on(cleaned) if _settings(m) in before]
    return [effect(source, first, second) for first, second in pairs]


def _settings(model: ModelRecord) -> tuple[str, str, int]:
    return model.method, repr(sorted(model.config.items())), model.seed


_NO_MODEL = "no model"
_VERDICTS = {"bad": (Verdict.BAD,), "bad and ambiguous": (Verdict.BAD, Verdict.AMBIGUOUS)}
_CLEANED_SPLITS = [Split.TRAIN.value, Split.VALIDATION.value]


def show_reviews(listed: Sequence[TripletSetRecord]) -> None:
    """Draw the reviewers, the form for a set cleaned triplets, and the sets made so far."""
    left, _ = st.columns(2)
    with left:
        source = choose_set(listed)
    reviews = page_queries.reviews(source)
    made = cleaned_sets(source, listed)
    if reviews:
        _people(reviews)
        st.subheader("Exclude bad triplets", anchor=False)
        first, second, third = st.columns(3, vertical_alignment="bottom")
        out = first.segmented_control("Exclude triplets judged", list(_VERDICTS), default="bad", required=True)
        reviewers = sorted({r.person for listed in reviews.values() for r in listed})
        whose = second.multiselect(
            "Reviewers", reviewers, default=reviewers, format_func=lambda p: p or people.UNNAMED,
            help="One such verdict by any of these people is enough.",
        )  # fmt: skip
        splits = third.multiselect(
            "Splits", [s.value for s in Split], default=_CLEANED_SPLITS,
            help="Keep the test split unchanged, so that results stay comparable.",
        )  # fmt: skip
        verdicts = _VERDICTS[out or "bad"]
        found = [t for t, listed in reviews.items() if any(r.person in whose and r.verdict in verdicts for r in listed)]
        gone = np.array(sorted(found), dtype=np.int64)
        by_split = {split: int(np.isin(gone, triplet_queries.ids(source, split)).sum()) for split in Split}
        excluded = {split: n for split, n in by_split.items() if split.value in splits}
        kept = [f"{n:,} {split.value}" for split, n in by_split.items() if n and split not in excluded]
        parts = [f"**{n:,}** {split.value}" for split, n in excluded.items()]
        message = f"Excludes triplets: {', '.join(parts) or 'none'}."
        if kept:
            message += f" Kept despite their verdict: {', '.join(kept)}."
        if Split.TEST in excluded:
            message += " Results on a changed test split are not comparable. Evaluate on the original set."
        st.caption(message)
        removed = sum(excluded.values())
        _form(source, {"leave_out": [v.value for v in verdicts], "people": whose, "splits": splits}, removed)
    elif not made:
        nothing(
            "No reviews of this set yet.",
            f"Open the tab “{triplets.BROWSE}” and press G, B or A to judge triplets. Bad ones can then be left out.",
        )
    for one in made:
        _made(source, one)


def _people(reviews: Mapping[int, Sequence[TripletReview]]) -> None:
    all_reviews = [r for listed in reviews.values() for r in listed]
    st.markdown(
        f"**{count(len(reviews), 'triplet')}** reviewed by "
        f"{count(len({r.person for r in all_reviews}), 'person', 'people')}"
    )
    rows = []
    for person in sorted({r.person for r in all_reviews}):
        mine = [r for r in all_reviews if r.person == person]
        given = {v.value.title(): sum(r.verdict is v for r in mine) for v in Verdict}
        rows.append({"Reviewer": person or people.UNNAMED, **given, "Last": ago(max(r.created for r in mine))})
    draw_table(rows, width="content")
    with st.container(horizontal=True):
        for verdict in Verdict:
            n = len(filters.reviewed(reviews, None, verdict))
            triplets.triplets_button(
                f"Open {n:,} {verdict.value}", n, {triplets.REVIEWED: verdict.value}, name=f"judged_{verdict}"
            )


def _form(source: TripletSetRecord, rules: Mapping[str, Sequence[str]], removed: int) -> None:
    models = models_trained_on(source)
    with st.form(f"triplets_retrain_form_{source.id}"):
        left, right = st.columns(2)
        name = left.text_input("Name", value=queries.read(lambda r: r.triplets.usable_name(f"{source.name} cleaned")))
        again = right.selectbox(
            "Retrain", [_NO_MODEL, *(m.name for m in models)],
            help="Same method, settings and seed. Both models are then evaluated on the original test triplets.",
        )  # fmt: skip
        if not st.form_submit_button(
            "Build set", type="primary", icon=":material/cleaning_services:", disabled=not removed
        ):
            return
    args = {"triplets": source.name, "name": name.strip(), **rules}
    job = submit("clean-triplets", args, f"Build {name.strip()}")
    if job is None:
        return
    model = next((m for m in models if m.name == again), None)
    if model is None or retrain(source, name.strip(), model, job.id):
        st.rerun()


def retrain(source: TripletSetRecord, on: str, model: ModelRecord, after: int | None = None) -> bool:
    """Queue the training of a model on the set ``on``, and the evaluation of both on the original test triplets."""
    name = queries.usable_model_name(f"{model.name} cleaned")
    args = {
        "method": model.method, "name": name, "triplets": on, "settings": dict(model.config),
        "seed": model.seed,
    }  # fmt: skip
    training = submit("train", args, f"Train {name} as {model.name}", after=after)
    if training is None:
        return False
    return evaluate(source, (name, model.name), training.id)


def _made(source: TripletSetRecord, made: TripletSetRecord) -> None:
    origin = made.config[ORIGIN]
    removed = ", ".join(f"{n:,} {split}" for split, n in origin["removed"].items())
    whose = ", ".join(person or people.UNNAMED for person in origin["people"]) or "anyone"
    with st.container(border=True):
        st.markdown(f"**{plain(made.name)}**")
        st.caption(
            f"Without the triplets that {plain(whose)} judged {' or '.join(origin['left_out'])}: {removed} excluded. "
            f"Created {ago(made.created)}. Models are compared on the unchanged test triplets of {plain(source.name)}."
        )
        found = cleaning_effects(source, made)
        for effect in found:
            _effect(source, effect, f"{made.id}-{effect.after.id}")
        if not found:
            models = {m.name: m for m in models_trained_on(source)}
            if not models:
                st.caption(f"No model is trained on {plain(source.name)} yet, so there is nothing to compare with.")
            else:
                with st.container(horizontal=True, vertical_alignment="bottom"):
                    name = st.selectbox("Retrain", list(models), key=f"triplets_retrain_model_{made.id}")
                    if st.button(
                        "Retrain and compare", icon=":material/model_training:", key=f"triplets_retrain_{made.id}"
                    ) and retrain(source, made.name, models[name]):
                        st.rerun()


def _effect(source: TripletSetRecord, effect: TrainingEffect, key: str) -> None:
    show_effect(source, effect, ("All triplets", "Cleaned"))
    found = effect.measured
    if found is None:
        return

    def compare() -> None:
        st.session_state.update(
            {
                triplets.VIEW: triplets.ACCURACY,
                triplets.MODEL: found.after.name,
                triplets.SECOND_MODEL: found.before.name,
            }
        )

    st.button(
        "Compare margins", key=f"triplets_retrain_compare_{key}", icon=":material/compare_arrows:", on_click=compare
    )
