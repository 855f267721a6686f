"""Results of the Themes page: themes as cards at their levels, the units of a theme, and what the menu opens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.clustering.generated_names import NameState
from themescope.core.labelling.operations import digest_of_ids
from themescope.core.paths import default_models
from themescope.db.access import Right
from themescope.jobs.common.columns import is_list, without_waves
from themescope.jobs.common.language_models import materials_of_run
from themescope.jobs.common.models import WITHIN_ARTICLE, corpus_shares, language_note, within_article
from themescope.jobs.kinds.themes import restored
from themescope.jobs.services import pipeline
from themescope.jobs.services.selections import theme_table
from themescope.jobs.services.table_files import Table, Types, excel_bytes
from themescope.webapp.features import themes as state
from themescope.webapp.map_view.scene import MANY
from themescope.webapp.shared import by_column, compare_queries, header, labelling, queries, selections, unit_list
from themescope.webapp.shared.choose import grouped, model_label, model_notes, open_tab, segment
from themescope.webapp.shared.compare_queries import Analysis, RunListing
from themescope.webapp.shared.components import draw_component, draw_table, message
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.forms import table_files
from themescope.webapp.shared.job_status import follow
from themescope.webapp.shared.navigation import set_parameter, show_next, switch_page
from themescope.webapp.shared.people import may
from themescope.webapp.shared.search import SOUGHT
from themescope.webapp.shared.text import count, distinct, duration, file_stem, plain, shorten

_CENTRAL = 3
_CARDS, _TURN, _TO_MAP = "themes_cards", "themes_turn", "themes_to_map"
"""Session keys: the component of the cards, the number of names that it sent, and a wish to see the map."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A result at one of its levels."""

    base: Analysis
    """The level that was found first."""
    levels: Sequence[Analysis]
    """The one with the fewest themes first."""
    analysis: Analysis
    """The level that is shown."""
    results: Mapping[str, Analysis]
    """All results of the project by their names in addresses."""

    def listed(self) -> RunListing:
        """Return the units with their themes."""
        return compare_queries.theme_listing(self.analysis.run.id, self.analysis.run.created)


def show(found: Sequence[Analysis]) -> None:
    """Draw one of the results of a project: the one of the address, else the newest by the best model."""
    best = compare_queries.best_first(found)
    named = dict(zip(distinct(analysis.name for analysis in best), best, strict=True))
    base = named.get(str(st.session_state.get(state.RESULT)), best[0])
    levels = compare_queries.levels(base)
    with st.container(key="themes_bar", horizontal=True, vertical_alignment="center"):
        about = st.container(width="content")
        shown = Shown(base, levels, _chosen_level(base, levels), named)
        low = _low_confidence(shown)
        st.space("stretch")
        if may(Right.LABEL):
            selections.missing_theme(shown.analysis)
        labelling.correct_button("Correct these themes", shown.analysis, key="themes_correct", kind="primary")
        chosen = st.menu_button("⋯", [*_OPENED], key="themes_menu", help="More about these themes")
    units, themes = count(len(shown.listed().ids), "unit"), count(len(shown.analysis.themes), "theme")
    about.markdown(f"**{units}** in **{themes}**")
    _offer_vectors(shown)
    if chosen is not None:
        set_parameter(state.VIEW, chosen)
    view = str(st.session_state.get(state.VIEW, ""))
    if view in _OPENED:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(view, anchor=False)
            st.space("stretch")
            back = state.VIEW, state.THEMES
            st.button("Back to the themes", icon=":material/arrow_back:", on_click=set_parameter, args=back)
        _OPENED[view](shown)
        return
    tabs = {state.BY_COLUMN: by_column.show_categories, state.OVER_TIME: by_column.show_over_time}
    view, tab = open_tab([state.THEMES, *tabs], state.VIEW)
    with tab:
        if view in tabs:
            tabs[view](shown.base.corpus, shown.analysis, shown.listed())
        elif not _show_units(shown, low):
            _show_cards(shown)


def _offer_vectors(shown: Shown) -> None:
    """Tell whose vectors an older list has, and offer those for lists, unless there are themes by them."""
    corpus, best = shown.base.corpus, default_models(lists=True)[0]
    older = is_list(corpus) and shown.base.model.name in default_models()[:1]
    if not older or any(best in (one.model.name, one.name) for one in shown.results.values()):
        return
    with st.container(key="themes_vectors", horizontal=True, vertical_alignment="center"):
        st.caption(f"Found with a model for articles; {plain(best)} is made for lists such as this one.")
        if may(Right.MANAGE):
            st.button(
                "Compute with it",
                icon=":material/replay:",
                key="themes_vectors_new",
                on_click=header.start,
                args=(corpus,),
            )


def _chosen_level(base: Analysis, levels: Sequence[Analysis]) -> Analysis:
    """Choose a level; a result of an earlier version has one."""
    place = next(i for i, level in enumerate(levels) if level.run.id == base.run.id)
    if len(levels) == 1:
        return base
    given = "Chosen" if base.run.found["settings"].get("k") else "Suggested"
    titles = {place - 2: "Fewest", place - 1: "Fewer", place: given, place + 1: "More"}
    options = {titles[i].lower(): f"{titles[i]}: {len(level.themes)}" for i, level in enumerate(levels) if i in titles}
    before = st.session_state.get(state.LEVEL)
    help, look = "Fewer joins themes, more divides them.", {"label_visibility": "collapsed"}
    chosen = segment("Number of themes", options, state.LEVEL, given.lower(), help, **look)
    if before not in (None, chosen):
        set_parameter(state.THEME, "")
    names = [titles[i].lower() if i in titles else "" for i in range(len(levels))]
    return levels[names.index(chosen)]


def _low_confidence(shown: Shown) -> bool:
    """Draw the share of units with low confidence, which opens them; return whether it is known."""
    unread = language_note(queries.store(), shown.base.model, corpus_shares(shown.base.corpus))
    low = shown.listed().margins < 0
    st.button(
        f"{state.LOW_CONFIDENCE}: {'unknown' if unread else f'{low.mean():.0%}'}",
        key="themes_low",
        type="tertiary",
        help="Unknown, because the model does not read the language of this text."
        if unread
        else "Units whose average similarity to another theme is higher than to their own.",
        disabled=bool(unread) or not low.any(),
        on_click=set_parameter,
        args=(state.THEME, state.LOW_CONFIDENCE),
    )
    if unread:
        st.warning(plain(unread), icon=":material/translate:")
    return not unread


def _show_cards(shown: Shown) -> None:
    analysis = shown.analysis
    if st.session_state.pop(_TO_MAP, False):
        switch_page("map", {"colour": analysis.colour_name})
    _about_waves(shown.base)
    repeated, units = frequent_texts(analysis), len(shown.listed().ids)
    if repeated and 100 * repeated[0].count >= units:
        said = summary_of_repeats(repeated, units, analysis.run.found.get("distinct", 0))
        st.info(plain(said), icon=":material/content_copy:")
    draw_component(
        "theme_cards",
        Path(__file__).parent / "assets",
        data={
            "themes": _cards(shown, repeated),
            "digest": analysis.run.digest,
            "longest": 200,
            "editable": may(Right.MANAGE),
            "turn": st.session_state.get(_TURN, 0),
        },
        key=_CARDS,
        on_act_change=partial(_act, analysis),
    )


def _cards(shown: Shown, repeated: Sequence[RepeatedText]) -> list[dict[str, Any]]:
    analysis, look = shown.analysis, tones(st.context.theme.type)
    texts = compare_queries.sentence_texts([i for theme in analysis.themes for i in theme["central"][:_CENTRAL]])
    sizes = [theme["size"] for theme in analysis.themes]
    total, largest = max(sum(sizes), 1), max(*sizes, 1)
    notes, related = by_column.differing(analysis, shown.listed()), _related(shown)
    cards = []
    for place, theme in enumerate(analysis.themes):
        about = [theme["description"]] if theme.get("description") else []
        central = [texts[i] for i in theme["central"][:_CENTRAL] if i in texts]
        colour = place if place < MANY else -1
        cards.append(
            {
                "name": theme["name"],
                "size": f"{count(theme['size'], 'unit')} · {theme['size'] / total:.0%}",
                "share": round(theme["size"] / largest, 3),
                "colour": look.colour(colour),
                "mark": look.mark(colour),
                "badge": f"new in {theme['wave']}" if theme.get("wave") else "",
                "texts": [shorten(text, 240) for text in [*about, *central][:_CENTRAL]],
                "notes": [*filter(None, [related[place], within(repeated, place, theme["size"])]), *notes[place]],
            }
        )
    return cards


def _related(shown: Shown) -> list[str]:
    """Return for each theme of another level which suggested themes it joins, or which one it is a part of."""
    analysis, base = shown.analysis, shown.base
    if analysis.run.id == base.run.id:
        return [""] * len(analysis.themes)
    own, other = shown.listed(), compare_queries.theme_listing(base.run.id, base.run.created)
    order = np.argsort(other.ids, kind="stable")  # levels have the same units
    rows = order[np.searchsorted(other.ids[order], own.ids)]
    parts: list[list[int]] = [[] for _ in analysis.themes]
    for theme, of in np.unique(np.stack([own.labels, other.labels[rows]]), axis=1).T.tolist():
        parts[theme].append(of)
    names = [[base.themes[theme]["name"] for theme in part] for part in parts]
    if len(analysis.themes) < len(base.themes):
        return [f"Joins {'; '.join(found)}" if len(found) > 1 else "" for found in names]
    own_names = [theme["name"] for theme in analysis.themes]
    return [f"Part of {of[0]}" if of and of[0] != name else "" for of, name in zip(names, own_names, strict=True)]


def _act(analysis: Analysis) -> None:
    """Do what somebody chose on a card; a callback."""
    event = message(_CARDS, "act")
    kind, place, value = event.get("kind"), event.get("place"), str(event.get("value") or "").strip()
    if event.get("digest") != analysis.run.digest or not isinstance(place, int):
        return
    if not 0 <= place < len(analysis.themes):
        return
    # As it is now: the name may have been changed since the cards were drawn.
    name = str(queries.read(lambda r: r.runs.get(analysis.run.id)).config["themes"][place]["name"])
    if kind == "open":
        set_parameter(state.THEME, name)
    elif kind == "map":
        st.session_state[_TO_MAP] = True
    elif kind == "search":
        st.session_state[SOUGHT] = name.split(" · ")[0]
    elif kind == "rename" and value and may(Right.MANAGE):
        st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
        queries.write(lambda w: w.runs.rename_theme(analysis.run.id, place, value))


def _about_waves(analysis: Analysis) -> None:
    """Tell which waves the result leaves out, and that it continues an earlier one."""
    config = analysis.run.config
    left = without_waves(analysis.corpus, config.get("sampled_from", analysis.corpus.sentences), "result")
    if left:
        st.caption(f":material/library_add: {plain(left)}")
    if wave := config.get("wave"):
        st.caption(
            f"Continues an earlier result by “{plain(wave)}”: its units have the nearest theme, or a new one. The "
            "theme of no earlier unit changed."
        )


def _show_units(shown: Shown, low: bool) -> bool:
    """Draw the units of the theme in the address; False if it names none of this level."""
    wanted = str(st.session_state.get(state.THEME) or "")
    if wanted in ("", "All themes"):  # the second in links of earlier versions
        return False
    analysis, listed = shown.analysis, shown.listed()
    names = [theme["name"] for theme in analysis.themes]
    plain_name = re.sub(r"^\d+\. ", "", wanted)  # as in links of earlier versions
    place = next((names.index(name) for name in (wanted, plain_name) if name in names), -1)
    if place < 0 and not (low and wanted == state.LOW_CONFIDENCE):
        st.info(f"There is no theme “{plain(wanted)}” at this level.", icon=":material/info:")
        return False
    rows = np.flatnonzero(listed.margins < 0 if place < 0 else listed.labels == place)
    rows = rows[np.argsort(listed.margins[rows] if place < 0 else -listed.margins[rows], kind="stable")]
    share = f"{len(rows) / max(len(listed.ids), 1):.0%}"
    with st.container(horizontal=True, vertical_alignment="center"):
        cards = state.THEME, ""
        st.button("All themes", icon=":material/arrow_back:", type="tertiary", on_click=set_parameter, args=cards)
        st.subheader(plain(wanted if place < 0 else names[place]), anchor=False, width="stretch")
        st.caption(f"{count(len(rows), 'unit')} · {share}", width="content")
        if st.button("Show on the map", icon=":material/scatter_plot:"):
            switch_page("map", {"colour": analysis.colour_name})
    for note in [] if place < 0 else by_column.differing(analysis, listed)[place]:
        st.caption(plain(note))
    ids = np.sort(listed.ids[rows])
    found = selections.sentences(ids, digest_of_ids(ids), analysis if place < 0 else None)
    order, notes = np.searchsorted(ids, listed.ids[rows]), [f"{margin:.2f}" for margin in listed.margins[rows]]
    unit_list.show(unit_list.of_sentences(found, order, notes), "themes_units", 470)
    st.caption(
        f"{'Least sure' if place < 0 else 'Surest'} first. The number is the similarity to the own theme minus that to "
        "the nearest other one."
    )
    return True


def _show_files(shown: Shown) -> None:
    def table() -> tuple[Sequence[str], Table]:
        header, parts = theme_table(queries.store(), shown.analysis.run.id)
        return header, [row for part in parts() for row in part]

    def workbook(header: Sequence[str], rows: Table, types: Types | None = None) -> bytes:
        return excel_bytes(header, rows, types=types, more={"summary": [SUMMARY, *summary(shown.analysis)]})

    st.markdown("All units with their themes at every level, and with the columns of the project.")
    corpus = shown.analysis.corpus
    with st.container(horizontal=True):
        table_files(corpus.id, file_stem(f"{corpus.name} themes"), table, workbook)
    st.caption("Tables by column and over time have files of their own, in their tabs.")


SUMMARY = ("theme", "name", "units", "share", "subtitle")


def summary(analysis: Analysis) -> list[tuple[Any, ...]]:
    """Return the rows of the summary sheet with the columns of ``SUMMARY``, one for each theme."""
    texts = compare_queries.sentence_texts([i for theme in analysis.themes for i in theme["central"][:1]])
    total = max(sum(theme["size"] for theme in analysis.themes), 1)
    return [
        (
            number,
            theme["name"],
            theme["size"],
            round(theme["size"] / total, 4),
            theme.get("description") or next((texts.get(i, "") for i in theme["central"][:1]), ""),
        )
        for number, theme in enumerate(analysis.themes)
    ]


def _show_results(shown: Shown) -> None:
    for name, analysis in shown.results.items():
        now = analysis.run.id == shown.base.run.id
        with st.container(horizontal=True, vertical_alignment="center", key=f"item-result-{analysis.run.id}"):
            about = f"by {plain(analysis.model.name)} · {analysis.run.created:%d %B %Y, %H:%M} UTC"
            st.markdown(f"**{count(len(analysis.themes), 'theme')}** {about}", width="stretch")
            if now:
                st.caption("shown", width="content")
            elif st.button("Show", key=f"themes_show_{analysis.run.id}"):
                show_next({"result": name})
                st.rerun()


def _show_settings(shown: Shown) -> None:
    if not may(Right.MANAGE):
        st.caption("Finding themes requires the admin role.")
        return
    corpus, settings = shown.base.corpus, shown.base.run.found["settings"]
    shares = corpus_shares(corpus)
    best = queries.best_first(shares, corpus.id, across=corpus.articles > 1)
    known = {model.name: model for model in grouped(best, lambda model: model.method)}
    first, second, third = st.columns(3, vertical_alignment="bottom")
    names = list(known)
    own = names.index(shown.base.model.name) if shown.base.model.name in names else 0
    model = first.selectbox("Model", names, own, format_func=lambda name: model_label(known[name]))
    ways = {"": "Suggested"} | {
        card.id: card.title
        for card in CLUSTERERS
        if "needs-k" in card.tags and not card.tags & {"no-vectors", "tables-only"}
    }
    way = second.selectbox("Method", list(ways), format_func=ways.__getitem__, help="Suggested: a tree for lists.")
    k = third.number_input(
        "Number of themes", 2, 500, settings.get("k") or None, placeholder="suggested", key="themes_number"
    )
    shared = st.toggle(
        "Also use word overlap",
        value=settings.get("shared") != 0 or bool(settings.get("density")),
        help="Units that share rare words count as similar too. Off: similarity by the model alone.",
    )
    model_notes(known[model], shares, articles=corpus.articles > 1)
    if st.button("Find themes", key="themes_find", type="primary", icon=":material/category:"):
        wanted: dict[str, Any] = {"k": int(k or 0)} | ({} if shared else {"shared": 0})
        wanted |= {"clusterer": way, "density": False} if way else {}
        choices = pipeline.Choices(model, wanted)
        jobs = follow(lambda: pipeline.queue_pipeline(queries.store(), corpus.name, corpus.language, choices))
        if jobs:
            st.session_state[state.REQUESTED] = next(job.id for job in jobs if job.kind == pipeline.THEMES)
            set_parameter(state.VIEW, state.THEMES)
            st.rerun()


def _show_how(shown: Shown) -> None:
    """Draw model, method, the reason for the number of themes, and the curves over other numbers."""
    analysis = shown.base
    config, settings, k = analysis.run.config, analysis.run.found["settings"], len(analysis.themes)
    words = " plus word overlap" if float(settings.get("shared", 0)) else ""
    method = f"Grouped with “{analysis.model.name}”{words} in {duration(analysis.run.seconds)}."
    curves, interval = config["curves"], config.get("interval")
    lines = [config["reason"] or f"The number of themes, {k}, was given.", method]
    if interval and not config["reason"]:
        lines.append(f"Suggested from the similarities: {interval[0]} to {interval[1]} themes.")
    if settings.get("context"):
        lines.append("The units are on one subject: each was encoded together with the mean of all.")
    if within_article(analysis.model):
        whole = "The vectors of this model are computed within the text, which here is the whole list."
        lines.append(whole if analysis.corpus.articles == 1 else WITHIN_ARTICLE)
    units = len(shown.listed().ids)
    if config["compared"] < config.get("usual", units):  # results of earlier versions used all units
        lines.append(
            f"A random sample of {config['compared']:,} units (seed {analysis.run.seed}) was grouped; each other "
            "unit was assigned to its nearest theme."
        )
    lines.append(summary_of_repeats(frequent_texts(analysis), units, config.get("distinct", 0)))
    st.markdown("  \n".join(map(plain, filter(None, lines))))
    if len(curves["ks"]) > 1:
        figure = curves_figure(curves, k, tones(st.context.theme.type))
        st.plotly_chart(figure, key=f"themes_curves_{analysis.run.digest}", config={"displayModeBar": False})
    listed = [f"{title}: {about}" for title, about in CURVES.values()]
    st.caption(". ".join([*listed, f"Measured on {count(curves['sentences'], 'unit')}."]))


CURVES = {
    "silhouette": ("Silhouette", "how much closer a unit is to its own theme than to the nearest other one"),
    "gain": ("Gain in similarity", "how much more similar units of one theme are than any two; look for the elbow"),
    "stability": ("Stability", "agreement of the themes of random subsamples with those of the whole list"),
}


def curves_figure(curves: Mapping[str, Any], chosen: int, tones: Tones) -> go.Figure:
    """Return the three curves side by side, each with its own scale; the chosen number is marked."""
    ks: Sequence[int] = curves["ks"]
    titles = [title for title, _ in CURVES.values()]
    figure = make_subplots(rows=1, cols=len(CURVES), subplot_titles=titles, horizontal_spacing=0.06)
    look: dict[str, Any] = {
        "mode": "lines+markers",
        "line": {"color": tones.accent, "width": 2},
        "marker": {"size": [11 if k == chosen else 5 for k in ks], "color": tones.accent},
    }
    for column, name in enumerate(CURVES, 1):
        about = "%{x} themes: %{y:.3f}<extra></extra>"
        shown = go.Scatter(x=np.array(ks), y=np.array(curves[name]), hovertemplate=about, showlegend=False, **look)
        figure.add_trace(shown, row=1, col=column)
        figure.add_vline(x=chosen, line={"color": tones.ink, "width": 1, "dash": "dot"}, row=1, col=column)
    figure.update_annotations(font={"size": 13, "color": tones.ink})
    figure.update_xaxes(title={"text": "themes", "font": {"size": 12}}, showgrid=False, automargin=True)
    figure.update_yaxes(automargin=True, nticks=5)
    figure.update_layout(height=240, margin={"l": 8, "r": 8, "t": 30, "b": 8})
    return figure


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A text that several units have, with their number and theme."""

    text: str
    count: int
    theme: int


def frequent_texts(analysis: Analysis) -> list[RepeatedText]:
    """Return the texts that most units have; results of earlier versions have none."""
    found = analysis.run.found.get("frequent", [])
    texts = compare_queries.sentence_texts([repeated["id"] for repeated in found])
    return [
        RepeatedText(f"“{shorten(texts[repeated['id']], 60)}”", repeated["count"], repeated["theme"])
        for repeated in found
    ]


def summary_of_repeats(frequent: Sequence[RepeatedText], sentences: int, distinct: int) -> str:
    """Return which texts have the largest shares, 1 % or more, and what that means; "" if no text is repeated."""
    if not frequent:
        return ""
    first, *others = frequent
    share = first.count / sentences
    next_ = [f"{other.text} ({other.count:,})" for other in others if 100 * other.count >= sentences]
    more = f" Next: {', '.join(next_)}." if next_ else ""
    return (
        f"{'<1%' if share < 0.01 else f'{share:.0%}'} of the units have the same text: {first.text} "
        f"({first.count:,} of {sentences:,}).{more} Identical texts share a theme, and copies do not change "
        f"the themes of the others. There are {distinct:,} different texts."
    )


def within(frequent: Sequence[RepeatedText], place: int, size: int) -> str:
    """Return the texts that make up a tenth or more of a theme, with their numbers; "" without any."""
    found = [f"{one.count:,} × {one.text}" for one in frequent if one.theme == place and 10 * one.count >= size]
    return f"{' and '.join(found)} among them" if found else ""


_OUTCOMES = {
    NameState.NAMED: ("theme named", "themes named"),
    NameState.UNSUPPORTED: ("suggestion not used", "suggestions not used"),
    NameState.KEPT: ("name kept", "names kept"),
}


def _show_naming(shown: Shown) -> None:
    """Draw what earlier requests gave, and the form for new ones."""
    analysis = shown.analysis
    report = analysis.run.found.get("naming")
    if report:
        found = [(int(report.get(outcome.value, 0)), words) for outcome, words in _OUTCOMES.items()]
        counts = ", ".join(count(number, *words) for number, words in found if number)
        st.markdown(f"Last time: {plain(report['model'])} at {plain(report['endpoint'])}: {counts}.")
        rows = [
            (f"{place}. {theme['name']}", theme["naming"]["reason"], theme["naming"].get("suggestion", ""))
            for place, theme in enumerate(analysis.themes, 1)
            if theme.get("naming", {}).get("reason")
        ]
        if rows:
            draw_table(pd.DataFrame(rows, columns=["Theme", "Reason", "Suggestion"]))
        renamed = any("default_name" in theme for theme in analysis.themes)
        if renamed and may(Right.MANAGE) and st.button("Restore computed names", icon=":material/undo:"):
            queries.write(lambda r: r.runs.set_themes(analysis.run.id, restored(analysis.themes), naming=None))
            st.rerun()
    model = labelling.endpoint()
    if model is None:
        return
    names = [f"{place}. {theme['name']}" for place, theme in enumerate(analysis.themes, 1)]
    chosen = st.multiselect("Themes to name", names, placeholder="all themes", key="themes_to_name")
    places = [names.index(name) for name in chosen]
    materials = materials_of_run(queries.store(), analysis.run, places)
    target = {"run": analysis.run.id, "numbers": places}
    labelling.consent(target, materials, model, f"themes_naming_{analysis.run.digest}")


_OPENED = {
    state.FILES: _show_files,
    state.RESULTS: _show_results,
    state.HOW: _show_how,
    state.AGAIN: _show_settings,
    labelling.TITLE: _show_naming,
}
"""What the menu opens in place of the tabs."""
