"""Number of themes: fewer and more than suggested at a click, what differs, curves, and any other number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from themescope.core.types import Ids, Labels
from themescope.db.access import Right
from themescope.webapp.features.themes import new_list, state
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.navigation import show_next
from themescope.webapp.shared.people import may
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.results.partition_queries import Analysis
from themescope.webapp.shared.text import count, plain, shorten

_FEWER, _MORE = 0.6, 1.7
"""Factors of the suggested number that make a visible difference; both are measured by the curves."""
_PART, _PARTS, _NAME_CHARS = 0.1, 4, 30
"""Least share of a theme that is named as a part of it, most parts, and most characters of a name."""


def steps(k: int, interval: Sequence[int]) -> dict[str, int]:
    """Return the numbers to choose from: a suggested ``k``, and others at least as far away as its interval."""
    low, high = interval
    fewer, more = max(min(low, round(_FEWER * k)), 2), max(high, round(_MORE * k))
    return ({"Fewer": fewer} if fewer < k else {}) | {"Suggested": k} | ({"More": more} if more > k else {})


def suggested(shown: Analysis, found: Sequence[Analysis]) -> Analysis | None:
    """Return the newest result by the same model whose number was suggested, if there is one."""
    if _is_suggested(shown):
        return shown
    return next((one for one in found if one.model.id == shown.model.id and _is_suggested(one)), None)


def _is_suggested(analysis: Analysis) -> bool:
    return not analysis.run.config["settings"].get("k")


def choose(shown: Analysis, found: Sequence[Analysis]) -> None:
    """Draw a button for each of three numbers: it opens the result, or finds the themes if there is none yet."""
    base = suggested(shown, found)
    interval = (base or shown).run.config.get("interval")
    if base is None or not interval:
        return
    curves, now = base.run.config["curves"], len(shown.themes)
    by_number = {len(one.themes): one for one in (*reversed(found), base, shown) if one.model.id == base.model.id}
    with st.container(horizontal=True, vertical_alignment="center", key="themes_steps"):
        st.markdown("**Number of themes**", width="content")
        for title, k in steps(len(base.themes), interval).items():
            known = by_number.get(k)
            if known is None and (k > base.run.config["compared"] // 2 or not may(Right.MANAGE)):
                continue
            pressed = st.button(
                f"{title}: {k}", key=f"themes_step_{title}", type="primary" if k == now else "secondary",
                help=_measured(curves, k) if known is None else None,
            )  # fmt: skip
            if pressed and known is not None:
                show_next({"view": state.RESULTS, "result": known.name})
                st.rerun()
            elif pressed:
                request(base, k)


def differences(shown: Analysis, found: Sequence[Analysis]) -> None:
    """Draw, where another number than the suggested one is shown, of which suggested themes each theme consists."""
    base = suggested(shown, found)
    if base is None or base.run.id == shown.run.id:
        return
    folded = st.expander(
        f"What differs from the suggested {len(base.themes)} themes", icon=":material/compare_arrows:",
        key=f"themes_differs_{shown.run.digest}", on_change="rerun",
    )  # fmt: skip
    if not folded.open:
        return
    listed = [partition_queries.theme_listing(one.run.id, one.run.created) for one in (shown, base)]
    now, before = ((one.ids, one.labels) for one in listed)
    made_of = parts(now, before, len(shown.themes))

    def name(place: int) -> str:
        return f"{place + 1}. {shorten(base.themes[place]['name'], _NAME_CHARS)}"

    consist = [", ".join(f"{name(c)} ({share:.0%})" for c, share in row[:_PARTS]) for row in made_of]
    same = sum(bool(row) and row[0][1] >= 1 - _PART for row in made_of)
    with folded:
        st.caption(
            f"{same} of {len(made_of)} themes have at least 90 % of their sentences from one of the suggested themes."
        )
        draw_table(
            {
                "Theme": [f"{place}. {theme['name']}" for place, theme in enumerate(shown.themes, 1)],
                "Sentences": [theme["size"] for theme in shown.themes],
                f"Of the {len(base.themes)} themes": consist,
            }
        )


def _measured(curves: Mapping[str, Any], k: int) -> str:
    """Return what is known of a number of themes before they are found."""
    about = "Takes some seconds the first time."
    if k not in curves["ks"]:
        return about
    at = curves["ks"].index(k)
    return f"Silhouette {curves['silhouette'][at]:.2f}, stability {curves['stability'][at]:.2f}. {about}"


def request(analysis: Analysis, k: int) -> None:
    """Find ``k`` themes with the model and the other settings of a result.

    Groups by density use no shared words; themes of a given number do, with the weight of the model.
    """
    by_density = analysis.run.config["settings"].get("density")
    settings: dict[str, float] = {"k": k} | ({} if by_density else {"shared": word_overlap(analysis)})
    new_list.request(analysis.corpus.name, analysis.model.name, settings)


def context_note(analysis: Analysis) -> str | None:
    """Return that the sentences were encoded in their context, if they were."""
    used = analysis.run.config["settings"].get("context")
    return "The sentences are on one subject: each was encoded together with the mean of all." if used else None


def word_overlap(analysis: Analysis) -> float:
    """Return the weight of word overlap; early results have none."""
    return float(analysis.run.config["settings"].get("shared", 0))


def parts(first: tuple[Ids, Labels], second: tuple[Ids, Labels], k: int) -> list[list[tuple[int, float]]]:
    """Return for each of the ``k`` themes of ``first`` the themes of ``second`` that it consists of, with their shares.

    Both are ids (n,) of sentences and their labels (n,); shares are those of the sentences in both, largest first.
    """
    _, at, there = np.intersect1d(first[0], second[0], return_indices=True)
    table = np.zeros((k, int(second[1].max(initial=0)) + 1))
    np.add.at(table, (first[1][at], second[1][there]), 1)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    return [[(int(c), float(row[c])) for c in np.argsort(-row, kind="stable") if row[c] >= _PART] for row in shares]


def why(analysis: Analysis) -> None:
    """Draw the reason for the number of themes, the curves over other numbers, and a field for any number."""
    curves, reason, k = analysis.run.config["curves"], analysis.run.config["reason"], len(analysis.themes)
    # Drawn when it is opened: the charts take longer than all the rest of the page.
    folded = st.expander(f"Why {count(k, 'theme')}?", icon=":material/show_chart:", key="themes_why", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.markdown(plain(reason or " ".join(filter(None, [f"You chose {k} themes.", interval_note(analysis)]))))
        if len(curves["ks"]) > 1:
            figure = curves_figure(curves, k, tones(st.context.theme.type))
            st.plotly_chart(figure, key=f"themes_curves_{analysis.run.digest}", config={"displayModeBar": False})
        st.caption(
            ". ".join(f"{title}: {about}" for title, about in CURVES.values())
            + f". Measured on {count(curves['sentences'], 'sentence')}."
        )
        left, middle, right = st.columns([1, 2, 3], vertical_alignment="bottom")
        other = left.number_input("Number of themes", 2, 500, max(k, 2), key=f"themes_number_{analysis.run.digest}")
        if middle.button("Recluster", icon=":material/replay:", disabled=int(other) == k):
            request(analysis, int(other))
        if right.toggle("Show values", key=f"themes_show_numbers_{analysis.run.digest}"):
            columns = {"Themes": curves["ks"], **{title: curves[name] for name, (title, _) in CURVES.items()}}
            draw_table(pd.DataFrame(columns).round(3), height=240)


def interval_note(analysis: Analysis) -> str | None:
    """Return the interval of the number of themes in words; results of earlier versions have none."""
    if not (interval := analysis.run.config.get("interval")):
        return None
    low, high = interval
    if analysis.run.config["settings"].get("density"):
        return f"Suggested from the similarities: groupings of other sizes have {low} to {high} themes."
    return f"Suggested from the similarities: {low} to {high} themes (90 % interval)."


CURVES = {
    "silhouette": ("Silhouette", "how much closer a sentence is to its own theme than to the nearest other one"),
    "gain": ("Gain in similarity", "how much more similar sentences of one theme are than any two; look for the "
             "elbow"),
    "stability": ("Stability", "agreement of the themes of random subsamples with those of the whole list"),
}  # fmt: skip


def curves_figure(curves: Mapping[str, Any], chosen: int, tones: Tones) -> go.Figure:
    """Return the three curves side by side, each with its own scale; the chosen number is marked."""
    ks: Sequence[int] = curves["ks"]
    titles = [title for title, _ in CURVES.values()]
    figure = make_subplots(rows=1, cols=len(CURVES), subplot_titles=titles, horizontal_spacing=0.06)
    for column, name in enumerate(CURVES, 1):
        line = {"color": tones.accent, "width": 2}
        shown = go.Scatter(
            x=np.array(ks),
            y=np.array(curves[name]),
            mode="lines+markers",
            line=line,
            marker={"size": [11 if k == chosen else 5 for k in ks], "color": tones.accent},
            hovertemplate="%{x} themes: %{y:.3f}<extra></extra>",
            showlegend=False,
        )
        figure.add_trace(shown, row=1, col=column)
        figure.add_vline(x=chosen, line={"color": tones.ink, "width": 1, "dash": "dot"}, row=1, col=column)
    figure.update_annotations(font={"size": 13, "color": tones.ink})
    figure.update_xaxes(title={"text": "themes", "font": {"size": 12}}, showgrid=False, automargin=True)
    figure.update_yaxes(automargin=True, nticks=5)
    figure.update_layout(height=240, margin={"l": 8, "r": 8, "t": 30, "b": 8})
    return figure
