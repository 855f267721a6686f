"""Weak labels, one at a time: pivot, same theme, other theme, and which model tells them apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import streamlit as st

from core.records import CorpusRecord, RunRecord, TripletCard, TripletSetRecord
from core.sheets.writing import csv_text
from core.triplets.rules import TripletRules
from core.types import Split
from webapp import queries
from webapp.components import facts
from webapp.components.choose import COUNTED, by_name, clickable
from webapp.components.jobs import submit
from webapp.components.text import ago, count, plain, shorten, words
from webapp.forms import checked, config_fields

_PAGE = 50
_EXPORTED = 10_000
_KINDS = {"sentences": "Sentences (triplets-sen)", "titles": "Section titles (triplets-titles)"}


def browse(sets: Sequence[TripletSetRecord]) -> None:
    """One triplet large, its neighbours in a table below; J and K move."""
    left, middle, right = st.columns([4, 4, 4], vertical_alignment="bottom")
    with left:
        chosen = by_name("Triplet set", sets, "set", lambda s: s.name)
    splits = ["all", *(s.value for s in Split)]
    split = middle.segmented_control(
        "Split", splits, default="all", required=True, key="split", bind="query-params", help="Decided by article title"
    )
    search = right.text_input(
        "Find", key="words", bind="query-params", placeholder="a word or an article", icon=":material/search:"
    )
    where = (chosen.id, None if split == "all" else Split(split), search.strip())
    state = f"triplet-{where}"
    at: int = st.session_state.setdefault(state, 0)
    cards, total = queries.triplet_page(*where, at // _PAGE * _PAGE, _PAGE, chosen.created)
    if not cards:
        st.info("No triplet matches. Choose another split or search for something else.", icon=":material/info:")
        return
    runs = newest_by_model(queries.triplet_runs(chosen.id))
    _steps(state, at, total, lambda: export(where, runs, chosen))
    margins = queries.margins([card.id for card in cards], [run.id for run in runs.values()])
    current = cards[min(at % _PAGE, len(cards) - 1)]
    card(current, chosen.kind)
    verdicts(current, runs, margins)
    _table(cards, runs, margins, state, at // _PAGE * _PAGE)


def export(where: tuple[int, Split | None, str], runs: Mapping[str, RunRecord], chosen: TripletSetRecord) -> str:
    """The triplets in view as the CSV that ``evaluate triplets`` reads, with each model's margin behind."""
    cards, _ = queries.triplet_page(*where, 0, _EXPORTED, chosen.created)
    margins = queries.margins([card.id for card in cards], [run.id for run in runs.values()])
    header = ["Sentence1", "Sentence2", "Sentence3", "Article", "Section", "OtherSection", "Split"]
    return csv_text(
        [*header, *(f"margin of {name}" for name in runs)],
        (
            [c.pivot, c.positive, c.negative, c.article, c.pivot_section, c.negative_section, c.split.value]
            + [margins.get(run.id, {}).get(c.id) for run in runs.values()]
            for c in cards
        ),
    )


def newest_by_model(runs: Sequence[RunRecord]) -> dict[str, RunRecord]:
    """Model name → its newest evaluation."""
    names = {model.id: model.name for model in queries.models()}
    newest: dict[str, RunRecord] = {}
    for run in runs:
        if run.model_id in names:
            newest.setdefault(names[run.model_id], run)
    return newest


def _steps(state: str, at: int, total: int, data: Callable[[], str]) -> None:
    def move(to: int) -> None:
        st.session_state[state] = min(max(to, 0), total - 1)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Previous", shortcut="K", on_click=move, args=(at - 1,), disabled=at == 0)
        st.button("Next", shortcut="J", on_click=move, args=(at + 1,), disabled=at + 1 >= total)
        st.caption(f"Triplet {min(at, total - 1) + 1:,} of {total:,}")
        st.space("stretch")
        st.download_button(
            "CSV",
            data=data,
            file_name="themescope-triplets.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            help=f"The first {_EXPORTED:,} of {total:,} triplets in view" if total > _EXPORTED else None,
        )


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
    known = {name: margins.get(run.id, {}).get(triplet.id) for name, run in runs.items()}
    if not runs:
        st.caption("No model has been evaluated on this set yet. Ask for it on the page Compare, “Triplet accuracy”.")
    elif all(margin is None for margin in known.values()):
        st.caption("Models were evaluated on another split of this set; choose “test” above to see who was right.")
    with st.container(horizontal=True):
        for name, margin in known.items():
            if margin is not None:
                _verdict(name, margin)


def _verdict(name: str, margin: float) -> None:
    label, colour, icon = outcome(margin)
    st.badge(
        f"{plain(name)} {label} · {signed(margin)}",
        color=colour,  # type: ignore[arg-type]
        icon=icon,
        help="Margin: distance to the other section minus distance to the same section, in this model's own distance",
    )


def signed(margin: float) -> str:
    """Write ``+1.24``, ``−0.0024``: a real minus sign, three digits that count."""
    return f"{margin:+.3g}".replace("-", "−")


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
            **{_column(name): [margins.get(run.id, {}).get(c.id) for c in cards] for name, run in runs.items()},
            "Section": [c.pivot_section for c in cards],
            "Other section": [c.negative_section for c in cards],
            "Pivot": [c.pivot for c in cards],
        }
    )
    key = f"rows-{state}-{first}"

    def jump() -> None:
        cells = st.session_state[key]["selection"]["cells"]
        if cells:
            st.session_state[state] = first + cells[0][0]

    signs = " A model's column holds its margin: positive is right, negative is wrong." if runs else ""
    st.caption(f"Click a row to see it above.{signs}")
    st.dataframe(
        frame,
        hide_index=True,
        height=300,
        on_select=jump,
        selection_mode="single-cell",
        key=key,
        column_config={
            **{_column(name): st.column_config.NumberColumn(format="%+.3f", width=110) for name in runs},
            "Article": st.column_config.TextColumn(width=170),
            "Section": st.column_config.TextColumn(width=150),
            "Other section": st.column_config.TextColumn(width=150),
            "Pivot": st.column_config.TextColumn(width="large"),
        },
    )


def _column(name: str) -> str:
    return shorten(name, 24)


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
