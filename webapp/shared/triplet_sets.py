"""Triplet sets: what there is, what the rules kept out, and the form for a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from core.triplets.rules import TripletRules
from core.types import Split
from db.records import CorpusRecord, TripletSetRecord
from webapp.shared import facts
from webapp.shared.choose import COUNTED, by_name, clickable
from webapp.shared.forms import checked, config_fields
from webapp.shared.job_status import submit
from webapp.shared.text import ago, count, plain

_KINDS = {"sentences": "Sentences", "titles": "Titles with sentences"}


def choose(sets: Sequence[TripletSetRecord]) -> TripletSetRecord:
    """One of the sets (at least one), the same on every tab."""
    return by_name("Triplet set", sets, "set", lambda s: s.name)


def overview(sets: Sequence[TripletSetRecord], names: Mapping[int, str]) -> TripletSetRecord:
    """Every set with what it holds; the one that was chosen."""
    return clickable(
        sets,
        "set-details",
        lambda s: s.name,
        pd.DataFrame(
            {
                "Set": [s.name for s in sets],
                "Corpus": [names.get(s.corpus_id, "") for s in sets],
                "Kind": [s.kind for s in sets],
                **{split.value.title(): [split_count(s, split) for s in sets] for split in Split},
                "Seed": [s.seed for s in sets],
                "Made": [ago(s.created) for s in sets],
            }
        ),
        {split.value.title(): COUNTED for split in Split},
    )


def split_count(record: TripletSetRecord, split: Split) -> int:
    """How many triplets a set has for a split."""
    value = record.counts.get(split.value, record.counts.get("triplets", {}))
    if isinstance(value, Mapping):
        value = value.get("triplets", value.get(split.value, 0))
    return int(value)


def dropped(record: TripletSetRecord) -> None:
    """What each rule kept out, and the rules themselves."""
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**What the rules kept and dropped**")
        facts.table(record.counts, ("What", "Count"), height=430)
    with right:
        st.markdown("**Rules**")
        facts.table({**record.config, "seed": record.seed}, ("Rule", "Value"), height=430)


def build(corpus: CorpusRecord) -> None:
    """The form for a new set."""
    kind = st.segmented_control(
        "What should be compared?",
        list(_KINDS),
        format_func=_KINDS.__getitem__,
        default="sentences",
        required=True,
        help="“Triplet network on sentences” learns from the first kind, the one “on section titles” from the second.",
    )
    with st.form(f"build-{corpus.id}-{kind}"):
        left, middle, right = st.columns([2, 1, 2])
        name = left.text_input("Name of the set", value=f"{corpus.name} {kind}")
        seed = middle.number_input("Seed", min_value=0, value=0, step=1)
        splits = right.multiselect("Splits", [s.value for s in Split], default=[s.value for s in Split])
        values = config_fields(TripletRules, f"rules-{corpus.id}-{kind}")
        st.caption(f"{plain(corpus.name)} has {count(corpus.articles, 'article')}.")
        if not st.form_submit_button("Build the set", type="primary", icon=":material/change_history:"):
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
