"""Sets tab and the form for a new triplet set; choice of a set and of an evaluation on every tab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from themescope.core.records.stored import CorpusRecord
from themescope.core.triplets.rules import TripletRules
from themescope.core.types import Split
from themescope.db.records import TripletSetRecord
from themescope.webapp.features.triplets.state import (
    MARGIN_MODEL,
    MODEL,
    NEW_SET,
    NO_MODEL,
    ORDER,
    SECOND_MODEL,
    SET,
    SET_DETAILS,
    SPLIT,
)
from themescope.webapp.shared import choose, forms, projects, queries
from themescope.webapp.shared.choose import COUNTED, by_name, clickable, grouped, nothing
from themescope.webapp.shared.forms import checked, config_fields
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.results.triplet_queries import Evaluation, best_first, evaluations, split_count
from themescope.webapp.shared.text import ago, count, plain

_KINDS = {"sentences": "Sentences", "titles": "Section titles and sentences"}


def choose_set(listed: Sequence[TripletSetRecord]) -> TripletSetRecord:
    """Return the chosen one of at least one set, the same on every tab."""
    return by_name("Triplet set", listed, SET, lambda s: s.name)


def show(listed: Sequence[TripletSetRecord]) -> None:
    """Draw all sets, and the details of the chosen one."""
    names = {c.id: c.name for c in queries.corpora()}
    frame = pd.DataFrame(
        {
            "Set": [s.name for s in listed],
            "Corpus": [names.get(s.corpus_id, "") for s in listed],
            "Kind": [s.kind for s in listed],
            **{split.value.title(): [split_count(s, split) for s in listed] for split in Split},
            "Seed": [s.seed for s in listed],
            "Created": [ago(s.created) for s in listed],
        }
    )
    chosen = clickable(listed, SET_DETAILS, lambda s: s.name, frame, {split.value.title(): COUNTED for split in Split})
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
    nothing(f"“{corpus.name}” has no sections.", advice, "triplets" if other is not None else "corpora", link, view)


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
    with st.form(f"{NEW_SET}_{corpus.id}_{kind}"):
        left, middle, right = st.columns([2, 1, 2])
        name = left.text_input("Name", value=f"{corpus.name} {kind}")
        seed = middle.number_input("Seed", min_value=0, value=0, step=1)
        splits = right.multiselect("Splits", [s.value for s in Split], default=[s.value for s in Split])
        values = config_fields(TripletRules, f"{NEW_SET}_rules_{corpus.id}_{kind}")
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
