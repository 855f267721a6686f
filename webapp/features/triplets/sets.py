"""Triplet sets: the list, rules and reviews of the chosen one, and the forms for new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import streamlit as st

from themescope.core.models import REGISTRY
from themescope.core.readers.tables import MOST_BYTES
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.triplets.rules import TripletRules
from themescope.core.types import Split
from themescope.db.access import Right
from themescope.db.records import TripletReview, TripletSetRecord, Verdict
from themescope.jobs.common.models import corpus_shares
from themescope.jobs.kinds.triplets import ORIGIN
from themescope.webapp.features import triplets
from themescope.webapp.features.triplets import MODEL, SECOND_MODEL, SET
from themescope.webapp.features.triplets import queries as page_queries
from themescope.webapp.shared import choose, forms, people, queries, triplet_queries
from themescope.webapp.shared.choose import Stage, by_name, clickable, closed, nothing, project, steps
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.forms import checked, config_fields
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import ago, plain
from themescope.webapp.shared.triplet_queries import TrainingEffect, effect, evaluate, show_effect, split_count

_KINDS = {"sentences": "Sentences", "titles": "Section titles and sentences"}


def choose_set(listed: Sequence[TripletSetRecord]) -> TripletSetRecord:
    """Return the chosen one of at least one set, the same on every tab; one alone needs no choice."""
    return listed[0] if len(listed) == 1 else by_name("Triplet set", listed, SET, lambda s: s.name)


def show(listed: Sequence[TripletSetRecord]) -> None:
    """Draw all sets, the rules and reviews of the chosen one, and the form for a new one."""
    chosen = clickable(
        listed,
        SET,
        lambda s: s.name,
        {
            "Set": [s.name for s in listed],
            "Kind": [s.kind for s in listed],
            **{split.value.title(): [split_count(s, split) for s in listed] for split in Split},
            "Seed": [s.seed for s in listed],
            "Created": [ago(s.created) for s in listed],
        },
    )
    st.subheader(plain(chosen.name), anchor=False)
    title = "Rules, and what they kept and left out"
    about = st.expander(title, icon=":material/rule:", key="triplets_rules", on_change="rerun")
    if about.open:
        left, right = about.columns(2, gap="medium")
        with left:
            forms.facts_table(chosen.counts, ("Item", "Count"))
        with right:
            rules = {**TripletRules.current_names(chosen.config), "seed": chosen.seed}
            forms.facts_table(rules, ("Rule", "Value"))
        with about:
            along = "its reviews and the accuracies measured on it"
            choose.delete_button("set", chosen.name, along, lambda r: r.triplets.delete(chosen.id))
    _reviewed(chosen, listed)
    folded = st.expander("New set", icon=":material/add:", key="triplets_new", on_change="rerun")
    if folded.open:
        with folded:
            if not closed("Building a triplet set") and (corpus := project()) is not None:
                form(corpus)
    own()


def _steps(built: bool) -> list[Stage]:
    about = "A pivot, a sentence of the same section and one of another section; the first two belong together."
    measure = "A model is right if the pivot is nearer to the sentence of its own section."
    return [
        Stage("Build triplets", about, built, "triplets"),
        Stage("Evaluate a model", measure, False, "triplets", needs="" if built else "Needs triplets."),
        Stage("Open the wrong ones", "", False, "triplets", needs="Needs an evaluated model."),
    ]


def first(corpus: CorpusRecord) -> None:
    """Draw the steps of a project without triplet sets, the first of which is the form."""
    steps(_steps(built=False))
    if not closed("Building a triplet set"):
        form(corpus)
        own()


def next_steps(chosen: TripletSetRecord) -> None:
    """Draw the steps of a set on which no model is evaluated yet, with the button that evaluates the best one."""
    corpus = queries.read(lambda r: r.corpora.get(chosen.corpus_id))
    best = queries.best_first(corpus_shares(corpus), corpus.id)
    steps(_steps(built=True))
    if best and may(Right.MANAGE):
        clicked = st.button(f"Evaluate {plain(best[0].name)}", type="primary", icon=":material/play_arrow:")
        if clicked and evaluate(chosen, (best[0].name,)):
            st.rerun()
        page_link("compare", "Evaluate others on Compare", view={"tab": "Triplet accuracy"})
    else:
        nothing("No evaluated model yet.", "An admin can evaluate models on Compare.")


def own() -> None:
    """Draw the form for triplets of one's own, which make a set and a project with their sentences."""
    if closed("Importing triplets"):
        return
    with st.expander("Import triplets", icon=":material/upload:"):
        file = st.file_uploader(
            "CSV or JSON lines file with the columns pivot, positive and negative",
            type=["csv", "jsonl", "ndjson"],
            max_upload_size=MOST_BYTES // 1_000_000,
            key="triplets_own_file",
            help="A column “group” keeps triplets together in training, validation or test; by default, those that "
            "share sentences stay together. The sentences become a project of their own.",
        )
        if file is None:
            return
        name = st.text_input("Name", value=Path(file.name).stem, key="triplets_own_name").strip()
        if st.button("Import", type="primary", icon=":material/upload:", disabled=not name):
            path = forms.keep_one("triplets_own", file)
            if submit("import-triplets", {"file": str(path), "name": name}, f"Triplets {name}"):
                st.rerun()


def form(corpus: CorpusRecord) -> None:
    """Draw the form for a new set."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    kind = right.segmented_control(
        "Positive and negative",
        list(_KINDS),
        format_func=_KINDS.__getitem__,
        default="sentences",
        required=True,
        help="“Triplet network on sentences” is trained on sentences, “on section titles” on section titles.",
    )
    name = left.text_input("Name", value=f"{corpus.name} {kind}", key=f"triplets_name_{corpus.id}_{kind}")
    row = st.container(horizontal=True)
    button = row.container(width="content")
    with row.popover("Options", icon=":material/tune:"):
        left, right = st.columns([1, 3])
        seed = left.number_input("Seed", min_value=0, value=0, step=1)
        splits = right.multiselect("Splits", [s.value for s in Split], default=[s.value for s in Split])
        values = config_fields(TripletRules, f"triplets_new_set_rules_{corpus.id}_{kind}", shown=99)
    if not button.button("Build set", type="primary", icon=":material/change_history:"):
        return
    rules = checked(TripletRules, values)
    if rules is None:
        return
    settings = {"rules": rules.to_dict(), "seed": int(seed), "splits": splits}
    args = {"corpus": corpus.name, "name": name.strip(), "kind": kind, **settings}
    if submit("build-triplets", args, f"Triplets {args['name']}"):
        st.rerun()


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


_VERDICTS = {"bad": (Verdict.BAD,), "bad and ambiguous": (Verdict.BAD, Verdict.AMBIGUOUS)}
_CLEANED = (Split.TRAIN, Split.VALIDATION)
"""Splits that bad triplets are left out of; results on a changed test split would not be comparable."""


def _reviewed(source: TripletSetRecord, listed: Sequence[TripletSetRecord]) -> None:
    """Draw who reviewed what, the form for a set without bad triplets, and the sets made so far."""
    reviews = page_queries.reviews(source)
    if not reviews:
        st.caption(f"No reviews of this set yet: press G, B or A in the tab “{triplets.BROWSE}” to judge triplets.")
    else:
        _people(reviews)
        with st.popover("Exclude bad triplets", icon=":material/cleaning_services:"):
            _form(source, reviews)
    here = [one for one in listed if one.corpus_id == source.corpus_id]
    for one in reversed(here):
        if one.config.get(ORIGIN, {}).get("from") == source.name and one.config[ORIGIN]["from_digest"] == source.digest:
            _made(source, one)


def _people(reviews: Mapping[int, Sequence[TripletReview]]) -> None:
    given = [r for of_triplet in reviews.values() for r in of_triplet]
    rows = []
    for person in sorted({r.person for r in given}):
        mine = [r for r in given if r.person == person]
        verdicts = {v.value.title(): sum(r.verdict is v for r in mine) for v in Verdict}
        rows.append({"Reviewer": person or people.UNNAMED, **verdicts, "Last": ago(max(r.created for r in mine))})
    draw_table(rows, width="content")
    judged = {verdict: sum(any(r.verdict is verdict for r in of) for of in reviews.values()) for verdict in Verdict}
    with st.container(horizontal=True):
        for verdict, n in judged.items():
            triplets.triplets_button(f"Open {n:,} {verdict.value}", n, {triplets.REVIEW: verdict.value}, verdict.value)


def _form(source: TripletSetRecord, reviews: Mapping[int, Sequence[TripletReview]]) -> None:
    """Draw the form for a copy of a set without the triplets that anyone judged bad, and queue it with a training."""
    models = models_trained_on(source)
    out = st.segmented_control("Exclude triplets judged", list(_VERDICTS), default="bad", required=True)
    name = st.text_input("Name", value=queries.read(lambda r: r.triplets.usable_name(f"{source.name} cleaned")))
    help = "Same method, settings and seed. Both models are then evaluated on the original test triplets."
    again = st.selectbox("Retrain", ["no model", *(m.name for m in models)], help=help)
    verdicts = _VERDICTS[out or "bad"]
    bad = np.array([t for t, of in reviews.items() if any(r.verdict in verdicts for r in of)], dtype=np.int64)
    excluded = {split: int(np.isin(bad, triplet_queries.ids(source, split)).sum()) for split in _CLEANED}
    parts = " and ".join(f"**{n:,}** {split.value}" for split, n in excluded.items())
    st.caption(f"Excludes {parts} triplets. The test split is kept, so that results stay comparable.")
    if not st.button("Build cleaned set", icon=":material/cleaning_services:", disabled=not any(excluded.values())):
        return
    args = {
        "triplets": source.name,
        "name": name.strip(),
        "leave_out": [v.value for v in verdicts],
        "people": sorted({r.person for of in reviews.values() for r in of}),
        "splits": [s.value for s in _CLEANED],
    }
    job = submit("clean-triplets", args, f"Build {name.strip()}")
    if job is None:
        return
    model = next((m for m in models if m.name == again), None)
    if model is not None:
        new, settings = queries.usable_model_name(f"{model.name} cleaned"), {"settings": dict(model.config)}
        again_as = {"method": model.method, "name": new, "triplets": name.strip(), "seed": model.seed, **settings}
        training = submit("train", again_as, f"Train {new} as {model.name}", after=job.id)
        if training is None or not evaluate(source, (new, model.name), training.id):
            return
    st.rerun()


def _made(source: TripletSetRecord, made: TripletSetRecord) -> None:
    origin = made.config[ORIGIN]
    removed = ", ".join(f"{n:,} {split}" for split, n in origin["removed"].items())
    whose = ", ".join(person or people.UNNAMED for person in origin["people"]) or "anyone"
    with st.container(border=True, key=f"item-made-{made.id}"):
        st.markdown(f"**{plain(made.name)}**")
        st.caption(
            f"Without the triplets that {plain(whose)} judged {' or '.join(origin['left_out'])}: {removed} excluded. "
            f"Created {ago(made.created)}. Models are compared on the unchanged test triplets of {plain(source.name)}."
        )
        found = cleaning_effects(source, made)
        if not found:
            st.caption("No model is trained on both sets with the same settings yet.")
        for one in found:
            show_effect(source, one, ("All triplets", "Cleaned"))
            if (both := one.measured) is not None:
                names = {triplets.VIEW: triplets.ACCURACY, MODEL: both.after.name, SECOND_MODEL: both.before.name}
                st.button(
                    "Compare margins",
                    key=f"triplets_retrain_compare_{one.after.id}",
                    icon=":material/compare_arrows:",
                    on_click=st.session_state.update,
                    args=(names,),
                )
