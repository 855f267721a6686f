"""Two methods on the same articles: difference with interval, scores by article, and by properties of articles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from themescope.core.metrics.article_difficulty import TRAITS, ArticleSlice
from themescope.core.types import Ids
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.compare import exports, state
from themescope.webapp.features.compare.exports import scatter_figure, slices_figure, untested
from themescope.webapp.features.compare.method_table import TableScope
from themescope.webapp.shared import choose, queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import clickable_table, clicked_point, download
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.results.compare_queries import Articles, Method
from themescope.webapp.shared.results.partition_queries import partition_name
from themescope.webapp.shared.text import count, p_text, plain, signed_interval, signed_score, with_interval

_ORDERS = {"first": "First higher", "second": "Second higher", "either": "Largest difference"}


@dataclass(frozen=True, slots=True)
class PairOfMethods:
    """Two methods with their scores on the n common articles."""

    scope: TableScope
    """Methods and metric they were chosen from."""
    first: Method
    second: Method
    articles: Ids
    values: npt.NDArray[np.float64]
    """(n, 2) scores."""

    @property
    def gaps(self) -> npt.NDArray[np.float64]:
        """Differences between the n scores, first minus second."""
        return self.values[:, 0] - self.values[:, 1]


def choose_pair(scope: TableScope | None) -> PairOfMethods | None:
    """Choose two methods; None, with a message on the page, if there are fewer than two."""
    if scope is None:
        return None
    found, scores = scope.comparison, scope.scores
    tested = [m for m, column in zip(found.methods, found.columns, strict=True) if column >= 0]
    if scores is None or len(tested) < 2:
        nothing(
            "Two methods are needed to compare.",
            "Run a second method in the tab “Clustering”, or clear the filters above.",
        )
        return None
    names = {m.name: i for i, m in enumerate(tested)}
    left, right = st.columns(2)
    with left:
        a = names[choose.one_of("First", list(names), state.FIRST)]
    with right:
        b = names[choose.one_of("Second", list(names), state.SECOND, list(names)[1])]
    if a == b:
        st.info("Choose two different methods.", icon=":material/info:")
        return None
    return PairOfMethods(scope, tested[a], tested[b], scores.articles, scores.values[:, [a, b]])


def show(pair: PairOfMethods) -> None:
    """Draw the difference, a scatter plot, a table and slices of articles; a click on one shows both clusterings."""
    _summary(pair)
    articles = compare_queries.articles(pair.scope.comparison.benchmark)
    rows = articles.rows(pair.articles)
    titles = [articles.titles[i] for i in rows]
    left, right = st.columns([2, 3], gap="medium")
    with left:
        theme = st.context.theme.type
        names = pair.first.name, pair.second.name
        key = f"pair-{pair.first.digest}-{pair.second.digest}-{pair.scope.comparison.metric.id}-{theme}"
        by_id = {int(id): title for id, title in zip(pair.articles, titles, strict=True)}
        chosen = next((id for id, title in by_id.items() if title == st.session_state.get(state.ARTICLE)), None)

        def pick() -> None:
            point = clicked_point(key)
            if point is not None:
                _open(pair, by_id[point[0]])

        figure = scatter_figure(
            pair.articles, titles, pair.values, names, pair.scope.comparison.metric.title, tones(theme), chosen
        )
        exports.chart(figure, key, "themescope-two-methods", on_select=pick, selection_mode="points")
    with right:
        _table(pair, articles, titles)
    # Computed when opened: the slices of all properties take longer than the rest of the tab.
    folded = st.expander(
        "By properties of articles", icon=":material/stacked_bar_chart:", key="compare_slices", on_change="rerun"
    )
    if folded.open:
        with folded:
            _slices(pair)


def _summary(pair: PairOfMethods) -> None:
    found = pair.scope.comparison
    assert found.family is not None  # there are scores of single articles
    at = [found.columns[list(found.methods).index(m)] for m in (pair.first, pair.second)]
    d, p, corrected = found.family.between(*at)
    better = found.family.better()
    ahead = "better" if better[at[0], at[1]] else "worse" if better[at[1], at[0]] else ""
    verdict = f"**{ahead}** than" if ahead else "**not significantly different** from"
    gaps = pair.gaps
    if not found.family.tested:
        st.markdown(
            f"**{plain(pair.first.name)}** against **{plain(pair.second.name)}**: {found.metric.title} "
            f"{signed_score(d.value)} over {count(d.n, 'article')}. **{untested(found.family)}**"
        )
        return
    st.markdown(
        f"**{plain(pair.first.name)}** is {verdict} **{plain(pair.second.name)}**: {found.metric.title} "
        f"{signed_interval(d)} over {count(d.n, 'article')} (95 % bootstrap "
        f"interval); {found.test.title} p {_with_sign(p)}, corrected for {count(found.claims, 'comparison')} "
        f"{_with_sign(corrected)}. It scores higher on {int((gaps > 0).sum()):,} articles, lower on "
        f"{int((gaps < 0).sum()):,}, equal on {int((gaps == 0).sum()):,}."
    )


def _with_sign(p: float) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"


def _table(pair: PairOfMethods, articles: Articles, titles: Sequence[str]) -> None:
    order_by = choose.segment("Order of articles", _ORDERS, state.ORDER)
    gaps = pair.gaps
    order = np.argsort({"first": -gaps, "second": gaps}.get(order_by, -np.abs(gaps)), kind="stable")
    rows = articles.rows(pair.articles)[order]
    frame = pd.DataFrame(
        {
            "Article": [titles[i] for i in order],
            "Difference": gaps[order],
            "First": pair.values[order, 0],
            "Second": pair.values[order, 1],
            **{trait.title: articles.traits[trait.id][rows] for trait in TRAITS},
        }
    )
    key = f"articles-{pair.first.digest}-{pair.second.digest}-{pair.scope.comparison.metric.id}-{order_by}"

    number = st.column_config.NumberColumn
    numbers = {name: number(format="%.3f", width=54) for name in ("First", "Second")}
    whole = {t.title: number(format="%.0f", help=t.summary, width=70) for t in TRAITS}
    clickable_table(
        frame,
        key,
        lambda row: _open(pair, str(frame["Article"].iloc[row])),
        height=400,
        column_config={
            "Article": st.column_config.TextColumn(width=132),
            "Difference": number(format="%+.3f", width=70),
            **numbers,
            **whole,
            "Balance": number(format="%.2f", help=TRAITS[-1].summary, width=58),
        },
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("**Click an article** in the table or chart to compare its two clusterings below.")
        st.space("stretch")
        download(
            "CSV", lambda: csv_text(list(frame.columns), frame.itertuples(index=False)), "themescope-two-methods.csv"
        )


def _open(pair: PairOfMethods, title: str) -> None:
    """Show both clusterings of an article. For callbacks."""
    benchmark = pair.scope.comparison.benchmark
    models = {m.id: m for m in queries.models()}
    left, right = (
        partition_name(run, models.get(run.model_id or -1), benchmark)
        for run in (pair.first.runs[0], pair.second.runs[0])
    )
    state.show({state.ARTICLE: title, state.LEFT: left, state.RIGHT: right})


def _slices(pair: PairOfMethods) -> None:
    of = pair.scope.comparison
    found = compare_queries.slices(of.benchmark, pair.first, pair.second, of.metric.id)
    unit = of.metric.title
    names = [pair.first.name, pair.second.name]
    for trait in TRAITS:
        parts = found[trait.id]
        labels = [_label(part, trait.id == "balance") for part in parts]
        st.markdown(f"**{trait.title}**: {plain(trait.summary)}")
        left, right = st.columns([2, 3], gap="medium", vertical_alignment="center")
        with left:
            figure = slices_figure(parts, labels, names, unit, tones(st.context.theme.type))
            exports.chart(figure, f"slices-{trait.id}", f"themescope-by-{trait.id}")
        ends = {name: st.column_config.TextColumn(width=132) for name in ("First", "Second", "Difference")}
        right.dataframe(_frame(parts, labels, trait.title), hide_index=True, column_config=ends)
    rows = [(trait.id, part) for trait in TRAITS for part in found[trait.id]]
    header = ["trait", "from", "to", "articles"]
    header += [f"{name}{end}" for name in ("first", "second", "difference") for end in ("", "_low", "_high")]
    download(
        "Download slices (CSV)",
        lambda: csv_text(
            header,
            ([t, p.low, p.high, p.n, *[end for e in p.estimates for end in (e.value, e.low, e.high)]] for t, p in rows),
        ),
        "themescope-slices.csv",
    )
    st.caption(
        f"Slices of roughly equal size; means of {unit} with 95 % bootstrap intervals over the articles of "
        "the slice. Slices by one property also differ in others: a difference is no evidence of a cause."
    )


def _label(part: ArticleSlice, fraction: bool) -> str:
    """Return the range of a slice, such as ``5``, ``6–8`` or ``.71–.83``."""
    low, high = (f"{x:.2f}".removeprefix("0") if fraction else f"{x:,.0f}" for x in (part.low, part.high))
    return low if low == high else f"{low}–{high}"


def _frame(parts: list[ArticleSlice], labels: list[str], trait: str) -> pd.DataFrame:
    names = ("First", "Second", "Difference")
    columns = {name: [with_interval(part.estimates[place]) for part in parts] for place, name in enumerate(names)}
    return pd.DataFrame({trait: labels, "Articles": [part.n for part in parts], **columns})
