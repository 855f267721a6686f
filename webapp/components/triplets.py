"""Weak labels, one at a time: pivot, same theme, other theme, and which model tells them apart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from core.records import CorpusRecord, RunRecord, TripletCard, TripletSetRecord
from core.triplets.rules import TripletRules
from core.types import Split
from webapp import queries
from webapp.components.jobs import submit
from webapp.components.text import count, plain, shorten, words
from webapp.forms import checked, config_fields

_PAGE = 50
_KINDS = {"sentences": "Sentences (triplets-sen)", "titles": "Section titles (triplets-titles)"}


def browse(chosen: TripletSetRecord) -> None:
    """One triplet large, its neighbours in a table below; J and K move."""
    left, right = st.columns([2, 3])
    splits = ["all", *(s.value for s in Split)]
    split = left.segmented_control(
        "Split", splits, default="all", required=True, key="split", bind="query-params", help="Decided by article title"
    )
    search = right.text_input(
        "Find", key="words", bind="query-params", placeholder="a word or an article", icon=":material/search:"
    )
    where = (chosen.id, None if split == "all" else Split(split), search)
    state = f"triplet-{where}"
    at: int = st.session_state.setdefault(state, 0)
    cards, total = queries.triplet_page(*where, at // _PAGE * _PAGE, _PAGE)
    if not cards:
        st.info("No triplet matches. Choose another split or search for something else.", icon=":material/info:")
        return
    _steps(state, at, total)
    runs = newest_by_model(queries.triplet_runs(chosen.id))
    margins = queries.margins([card.id for card in cards], [run.id for run in runs.values()])
    current = cards[min(at % _PAGE, len(cards) - 1)]
    card(current, chosen.kind)
    verdicts(current, runs, margins)
    _table(cards, runs, margins, state, at // _PAGE * _PAGE)


def newest_by_model(runs: Sequence[RunRecord]) -> dict[str, RunRecord]:
    """Model name → its newest evaluation."""
    names = {model.id: model.name for model in queries.models()}
    newest: dict[str, RunRecord] = {}
    for run in runs:
        if run.model_id in names:
            newest.setdefault(names[run.model_id], run)
    return newest


def _steps(state: str, at: int, total: int) -> None:
    def move(to: int) -> None:
        st.session_state[state] = min(max(to, 0), total - 1)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Next", shortcut="J", on_click=move, args=(at + 1,), disabled=at + 1 >= total)
        st.button("Previous", shortcut="K", on_click=move, args=(at - 1,), disabled=at == 0)
        st.caption(f"Triplet {min(at, total - 1) + 1:,} of {total:,}")


def card(triplet: TripletCard, kind: str) -> None:
    """The three texts with their sections, side by side."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(triplet.article)}**")
        st.badge(triplet.split.value, color="gray")
    other = "Other section" if kind == "sentences" else "Another section's title"
    same = "Same section" if kind == "sentences" else "Its section's title"
    parts = (
        ("Pivot", triplet.pivot_section, triplet.pivot, "gray"),
        (same, triplet.pivot_section, triplet.positive, "green"),
        (other, triplet.negative_section, triplet.negative, "orange"),
    )
    for column, (role, section, text, colour) in zip(st.columns(3), parts, strict=True):
        with column, st.container(border=True, height="stretch"):
            st.badge(role, color=colour)  # type: ignore[arg-type]
            st.caption(plain(section) or "(no heading)")
            st.text(text)


def verdicts(triplet: TripletCard, runs: Mapping[str, RunRecord], margins: Mapping[int, Mapping[int, float]]) -> None:
    """Which model puts the same section nearer, and by how much of its own distance."""
    if not runs:
        st.caption("No model has been evaluated on this set yet. Ask for it on the page Compare, “Triplet accuracy”.")
        return
    with st.container(horizontal=True):
        for name, run in runs.items():
            margin = margins.get(run.id, {}).get(triplet.id)
            if margin is not None:
                _verdict(name, margin)


def _verdict(name: str, margin: float) -> None:
    label, colour, icon = outcome(margin)
    st.badge(
        f"{plain(name)} {label} ({margin:+.3g})",
        color=colour,  # type: ignore[arg-type]
        icon=icon,
        help="Distance to the other section minus distance to the same section, in this model's own distance",
    )


def outcome(margin: float) -> tuple[str, str, str]:
    """Word, colour and symbol for a margin: distance to the other theme minus distance to the same theme."""
    if margin > 0:
        return "right", "green", ":material/check:"
    return ("wrong", "red", ":material/close:") if margin < 0 else ("undecided", "gray", ":material/drag_handle:")


def _table(
    cards: Sequence[TripletCard],
    runs: Mapping[str, RunRecord],
    margins: Mapping[int, Mapping[int, float]],
    state: str,
    first: int,
) -> None:
    frame = pd.DataFrame(
        {
            "Article": [c.article for c in cards],
            "Section": [c.pivot_section for c in cards],
            "Pivot": [c.pivot for c in cards],
            "Other section": [c.negative_section for c in cards],
        }
    )
    for name, run in runs.items():
        frame[shorten(name, 24)] = [margins.get(run.id, {}).get(c.id) for c in cards]
    key = f"rows-{state}-{first}"

    def jump() -> None:
        cells = st.session_state[key]["selection"]["cells"]
        if cells:
            st.session_state[state] = first + cells[0][0]

    st.caption("Click a row to see it above. Model columns: positive is right, negative is wrong.")
    st.dataframe(
        frame,
        hide_index=True,
        height=300,
        on_select=jump,
        selection_mode="single-cell",
        key=key,
        column_config={shorten(name, 24): st.column_config.NumberColumn(format="%+.3g") for name in runs},
    )


def overview(sets: Sequence[TripletSetRecord], names: Mapping[int, str]) -> None:
    """Every set with what it holds."""
    st.dataframe(
        pd.DataFrame(
            {
                "Set": [s.name for s in sets],
                "Corpus": [names.get(s.corpus_id, "") for s in sets],
                "Kind": [s.kind for s in sets],
                **{split.value.title(): [split_count(s, split) for s in sets] for split in Split},
                "Seed": [s.seed for s in sets],
            }
        ),
        hide_index=True,
    )


def split_count(record: TripletSetRecord, split: Split) -> int:
    """How many triplets a set has for a split."""
    value = record.counts.get(split.value, record.counts.get("triplets", {}))
    if isinstance(value, Mapping):
        value = value.get("triplets", value.get(split.value, 0))
    return int(value)


def dropped(record: TripletSetRecord) -> None:
    """What each rule kept out, and the rules themselves."""
    with st.expander("Rules, and what they dropped", icon=":material/rule:"):
        left, right = st.columns(2)
        with left:
            st.json(dict(record.config))
        with right:
            st.json(dict(record.counts))


def build(corpus: CorpusRecord) -> None:
    """The form for a new set."""
    kind = st.segmented_control(
        "What should be compared?", list(_KINDS), format_func=_KINDS.__getitem__, default="sentences", required=True
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
        "rules_json": json.dumps(rules.to_dict()),
        "seed": int(seed),
        "splits": splits,
    }
    if submit("build-triplets", args, f"{words(kind)} triplets of {corpus.name}"):
        st.rerun()
