"""Results of the Themes page: themes with names and central sentences, curves, the map and the sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from themescope.core.clustering.generated_names import NameState
from themescope.core.labelling.operations import Origin, selected
from themescope.core.records.answers import LocatedSentence
from themescope.core.records.stored import MapRecord
from themescope.core.types import Ids
from themescope.db.access import Right
from themescope.jobs.common.importing.waves import without_waves
from themescope.jobs.common.language_models.coding import materials_of_run
from themescope.jobs.common.models import WITHIN_ARTICLE, corpus_shares, language_note, within_article
from themescope.jobs.kinds.themes import restored
from themescope.jobs.services.labelling.files import PLACE, place_cells, sentence_parts
from themescope.jobs.services.table_files import Table, Types, excel_bytes
from themescope.webapp.features import themes as state
from themescope.webapp.features.themes import by_column
from themescope.webapp.map_view import component
from themescope.webapp.map_view import scene as map_scene
from themescope.webapp.map_view.scene import MANY, Colouring, MapState, Scene, forget_replaced, open_stored
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import bound
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.forms import table_files
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.labelling import codebook_view
from themescope.webapp.shared.labelling.codebook_view import correct_button
from themescope.webapp.shared.people import may
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.results.compare_queries import Analysis, RunListing
from themescope.webapp.shared.selections import selection_panel
from themescope.webapp.shared.selections.selections import Panel, Ranking
from themescope.webapp.shared.text import count, duration, file_stem, plain, shorten

_LONGEST = 200
_OUTCOMES = {
    NameState.NAMED: ("theme named", "themes named"),
    NameState.UNSUPPORTED: ("suggestion not used", "suggestions not used"),
    NameState.KEPT: ("name kept", "names kept"),
}


def show_naming(analysis: Analysis) -> None:
    """Draw what earlier requests gave, and the form for new ones."""
    folded = st.expander(
        codebook_view.TITLE,
        icon=":material/auto_awesome:",
        key=f"themes_naming_{analysis.run.digest}",
        on_change="rerun",
    )
    if not folded.open:
        return
    with folded:
        report = analysis.run.config.get("naming")
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
        model = codebook_view.endpoint()
        if model is None:
            return
        names = [f"{place}. {theme['name']}" for place, theme in enumerate(analysis.themes, 1)]
        chosen = st.multiselect("Themes to name", names, placeholder="all themes", key="themes_to_name")
        places = [names.index(name) for name in chosen]
        materials = materials_of_run(queries.store(), analysis.run, places)
        target = {"run": analysis.run.id, "numbers": places}
        codebook_view.consent(target, materials, model, f"themes_naming_{analysis.run.digest}")


def heading(analysis: Analysis, place: int, may_rename: bool) -> None:
    """Draw name and size of a theme, and a field to rename it."""
    theme = analysis.themes[place]
    with st.container(horizontal=True, vertical_alignment="top", gap="small", wrap=False):
        # Two elements, because the name may be written from right to left.
        st.markdown(f"**{place + 1}. {plain(theme['name'])}**", width="stretch")
        if wave := theme.get("wave"):
            st.badge(f"new in {plain(wave)}", icon=":material/new_releases:", color="green")
        st.caption(count(theme["size"], "sentence"), width="content")
        if not may_rename:
            return
        key = f"themes_new_theme_name_{analysis.run.digest}_{place}"
        with st.popover(":material/edit:", type="tertiary", help="Rename this theme"):
            st.text_input(
                "Name of the theme", value=theme["name"], key=key, max_chars=_LONGEST,
                on_change=_rename, args=(analysis.run.id, place, key),
            )  # fmt: skip
            st.caption("Enter saves the name with the result, for everyone.")


def _rename(run_id: int, place: int, key: str) -> None:
    name = str(st.session_state[key] or "").strip()
    if name:
        queries.write(lambda w: w.runs.rename_theme(run_id, place, name))


# --- results ----------------------------------------------------------------------------------------------------------


_LOW = "Sentences whose average similarity to another theme is higher than to their own."
_UNREAD = "Unknown, because the model does not read the language of this text."
_CARDS, _MORE_CARDS, _CENTRAL = 12, 24, 3
_LIST_IS_ARTICLE = "The vectors of this model are computed within the article, which here is the whole list."
_TEXT_CHARS = 240


def show(analysis: Analysis, found: Sequence[Analysis]) -> None:
    """Draw everything about one result of those ``found`` in the project."""
    with st.container(horizontal=True, vertical_alignment="center"):
        by_column.choose(analysis, found)
        correct_button("Correct these themes", analysis, key="themes_correct")
    by_column.differences(analysis, found)
    listed = compare_queries.theme_listing(analysis.run.id, analysis.run.created)
    low_confidence = int((listed.margins < 0).sum())
    unread = language_note(queries.store(), analysis.model, corpus_shares(analysis.corpus))
    share = "unknown" if unread else f"{low_confidence / max(len(listed.ids), 1):.0%}"
    what = f"**{count(len(listed.ids), 'sentence')}** in **{count(len(analysis.themes), 'theme')}**"
    st.markdown(f"{what} · Low confidence: **{share}**", help=_UNREAD if unread else _LOW)
    if unread:
        st.warning(plain(unread), icon=":material/translate:")
    words = " plus word overlap" if by_column.word_overlap(analysis) else ""
    took = f"Clustered with “{plain(analysis.model.name)}”{words} in {duration(analysis.run.seconds)}."
    details = [took, by_column.interval_note(analysis), by_column.context_note(analysis)]
    if within_article(analysis.model):
        details.append(_LIST_IS_ARTICLE if analysis.corpus.articles == 1 else WITHIN_ARTICLE)
    frequent = frequent_texts(analysis)
    if repeats := summary_of_repeats(frequent, len(listed.ids), analysis.run.config.get("distinct", 0)):
        if 100 * frequent[0].count < len(listed.ids):  # nobody has to do anything about it
            details.append(plain(repeats))
        else:
            st.info(plain(repeats), icon=":material/content_copy:")
    compared = analysis.run.config["compared"]
    if compared < analysis.run.config.get("usual", len(listed.ids)):  # results of earlier versions used all sentences
        st.caption(
            f"A random sample of {compared:,} sentences (seed {analysis.run.seed}) was clustered; each other sentence "
            "was assigned to its nearest theme."
        )
    _about_waves(analysis)
    number = f"themes_cards_{analysis.run.digest}"
    shown, may_rename = analysis.themes[: st.session_state.get(number, _CARDS)], may(Right.MANAGE)
    texts = compare_queries.sentence_texts([i for theme in shown for i in theme["central"][:_CENTRAL]])
    for start in range(0, len(shown), 2):
        for column, (place, theme) in zip(st.columns(2), enumerate(shown[start : start + 2], start), strict=False):
            with column, st.container(border=True, height="stretch", key=f"themes_theme-card-{place}"):
                heading(analysis, place, may_rename)
                subtitle, rest = _subtitle(theme, texts)
                st.markdown(plain(shorten(subtitle, _TEXT_CHARS)))
                for i in rest:
                    st.caption(plain(shorten(texts[i], _TEXT_CHARS)))
                if repeats := within(frequent, place, theme["size"]):
                    st.caption(plain(repeats), help=HELP)
    if left := len(analysis.themes) - len(shown):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Show more themes", icon=":material/expand_more:", on_click=st.session_state.__setitem__,
                args=(number, len(shown) + _MORE_CARDS),
            )  # fmt: skip
            st.caption(f"and {count(left, 'smaller theme')}; choose one below")
    with st.expander("How they were found", icon=":material/info:"):
        for detail in filter(None, details):
            st.caption(detail)
    show_naming(analysis)
    by_column.why(analysis)
    st.subheader("Map and sentences", anchor=False)
    _map_and_sentences(analysis, listed)
    by_column.show(analysis, listed)


def _about_waves(analysis: Analysis) -> None:
    """Say which waves the result leaves out, and what is new in the one that it was continued by."""
    config = analysis.run.config
    if note := without_waves(analysis.corpus, config.get("sampled_from", analysis.corpus.sentences), "result"):
        st.caption(f":material/library_add: {plain(note)}")
    if wave := config.get("wave"):
        st.caption(
            f"Continues an earlier result by “{plain(wave)}”: its sentences have the nearest theme, or a new one. The "
            "theme of no earlier sentence changed."
        )
    for place, theme in enumerate(analysis.themes, 1):
        if wave := theme.get("wave"):
            what = f"**{place}. {plain(theme['name'])}**, {count(theme['size'], 'sentence')}"
            st.markdown(f":material/new_releases: New in “{plain(wave)}”: {what}")


def _subtitle(theme: Mapping[str, Any], texts: Mapping[int, str]) -> tuple[str, list[int]]:
    """Return the description of a theme, else its most central sentence, and the ids of the sentences below it."""
    central = [i for i in theme["central"][:_CENTRAL] if i in texts]
    if description := theme.get("description"):
        return str(description), central[: _CENTRAL - 1]
    return (texts[central[0]], central[1:]) if central else ("", [])


def _map_and_sentences(analysis: Analysis, listed: RunListing) -> None:
    selected: MapState = st.session_state.setdefault(f"themes_map_state_{analysis.run.digest}", MapState())
    open_stored(selected, state.STORED, "themes_opened_selection")
    left, right = st.columns([11, 9])
    with left:
        theme, low = _choose_theme(analysis, int((listed.margins < 0).sum()))
        record = compare_queries.theme_map_of(analysis)
        if record is None:
            with st.container(border=True):
                st.caption("No map of these sentences yet.")
                if st.button("Create map", icon=":material/scatter_plot:"):
                    settings = {"corpus": analysis.corpus.name, "model": analysis.model.name}
                    if submit("project", settings, f"Draw the map of “{analysis.corpus.name}”"):
                        st.rerun()
        else:
            _draw(analysis, listed, record, theme, selected)
    shown = Shown(analysis, listed, selected, theme, low, record.name if record is not None else "")
    with right:
        show_sentences(shown)
    with left, st.container(horizontal=True):
        table_files(
            analysis.corpus.id, file_stem(f"{analysis.corpus.name} themes"),
            lambda: (HEADER, export(analysis, listed, shown.rows())), partial(_workbook, analysis),
            help=f"Download {count(len(shown.rows()), 'sentence')}.",
        )  # fmt: skip
    forget_replaced(selected, state.STORED)


HEADER = (*PLACE, "theme", "name", "subtitle", "margin", "group")


def export(analysis: Analysis, listed: RunListing, rows: Sequence[int] | npt.NDArray[np.intp]) -> list[tuple[Any, ...]]:
    """Return the rows of a file with the columns of ``HEADER``; the file format escapes the values."""
    texts = compare_queries.sentence_texts([i for theme in analysis.themes for i in theme["central"][:1]])
    subtitles = [_subtitle(theme, texts)[0] for theme in analysis.themes]

    def row(sentence: LocatedSentence, at: int) -> tuple[Any, ...]:
        i = rows[at]
        label = int(listed.labels[i])
        return (
            *place_cells(sentence),
            label + 1,
            analysis.themes[label]["name"],
            subtitles[label],
            round(float(listed.margins[i]), 4),
            listed.groups[i],
        )

    return [*chain.from_iterable(sentence_parts(queries.store(), listed.ids[np.asarray(rows, np.intp)], row))]


SUMMARY = ("theme", "name", "sentences", "share", "subtitle")


def summary(analysis: Analysis) -> list[tuple[Any, ...]]:
    """Return the rows of the summary sheet with the columns of ``SUMMARY``, one for each theme."""
    texts = compare_queries.sentence_texts([i for theme in analysis.themes for i in theme["central"][:1]])
    total = sum(theme["size"] for theme in analysis.themes)
    return [
        (number, theme["name"], theme["size"], round(theme["size"] / max(total, 1), 4), _subtitle(theme, texts)[0])
        for number, theme in enumerate(analysis.themes, 1)
    ]


def _workbook(analysis: Analysis, header: Sequence[str], rows: Table, types: Types | None = None) -> bytes:
    return excel_bytes(header, rows, types=types, more={"summary": [SUMMARY, *summary(analysis)]})


ALL_THEMES, LOW_CONFIDENCE = "All themes", "Low confidence"
_HEIGHT = 460
_NAME_CHARS = 60


def _choose_theme(analysis: Analysis, low: int) -> tuple[int | None, bool]:
    """Return the chosen theme, None for all, and whether only sentences with low confidence are shown."""
    names = {f"{number}. {theme['name']}": number - 1 for number, theme in enumerate(analysis.themes, 1)}
    options = [ALL_THEMES, *([LOW_CONFIDENCE] if low else []), *names]
    help = f"{LOW_CONFIDENCE}: {count(low, 'sentence')} more similar to another theme than to their own."
    chosen = bound("Show", options, state.THEME, help=help)
    return names.get(chosen), chosen == LOW_CONFIDENCE


def _draw(analysis: Analysis, listed: RunListing, record: MapRecord, theme: int | None, selected: MapState) -> None:
    whole = map_scene.opened(record)
    scene = whole.only(np.isin(whole.ids, listed.ids))
    order = np.argsort(listed.ids)
    labels = listed.labels[order][np.searchsorted(listed.ids[order], scene.ids)]
    scene = replace(scene, sections=labels.astype(np.int32), titles=[theme["name"] for theme in analysis.themes])
    colouring = _colouring(scene, analysis, theme)
    canvas = component.canvas_of(
        scene, colouring, opacity=0.8, height=_HEIGHT, name=f"themes-{analysis.run.digest[:12]}"
    )
    component.points(canvas)
    component.interactive(canvas, selected, selected.version)
    shown = len(scene.ids)
    total = len(listed.ids)
    sample = f" A sample of {shown:,} out of {total:,} sentences." if shown < total else ""
    notes = (
        f"Nearby points are similar: {record.faithfulness:.0%} of the 15 nearest neighbours of a sentence stay close "
        f"on the map.{sample} Lasso points to list them."
    )
    st.caption(notes)


def _colouring(scene: Scene, analysis: Analysis, theme: int | None) -> Colouring:
    themes = scene.sections.astype(np.int64)
    shown = themes < MANY if theme is None else (themes == theme) & (themes < MANY)
    names = [
        f"{number}. {shorten(found['name'], _NAME_CHARS)}" for number, found in enumerate(analysis.themes[:MANY], 1)
    ]
    return Colouring(np.where(shown, themes, -1), names, "other themes")


# Repeated texts of a result of the Themes page, in words

HELP = "A frequent text that is unlike the others is a theme of its own; others are in the theme that fits."
_CHARS = 60


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A text that several sentences have, with their number and theme."""

    text: str
    count: int
    theme: int


def frequent_texts(analysis: Analysis) -> list[RepeatedText]:
    """Return the texts that most sentences have; results of earlier versions have none."""
    found = analysis.run.config.get("frequent", [])
    texts = compare_queries.sentence_texts([repeated["id"] for repeated in found])
    return [
        RepeatedText(f"“{shorten(texts[repeated['id']], _CHARS)}”", repeated["count"], repeated["theme"])
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
        f"{'<1%' if share < 0.01 else f'{share:.0%}'} of the sentences have the same text: {first.text} "
        f"({first.count:,} of {sentences:,}).{more} Identical texts share a theme, and copies do not change "
        f"the themes of the others. There are {distinct:,} different texts."
    )


def within(frequent: Sequence[RepeatedText], place: int, size: int) -> str:
    """Return the texts that make up a tenth or more of a theme, with their numbers; "" without any."""
    found = [f"{one.count:,} × {one.text}" for one in frequent if one.theme == place and 10 * one.count >= size]
    return f"{' and '.join(found)} among them" if found else ""


# The sentences of a result beside its map: a theme, those with low confidence, or those selected on the map

_THEME_SENTENCES_HEIGHT = 430


@dataclass(frozen=True, slots=True)
class Shown:
    """The sentences that are shown of a result."""

    analysis: Analysis
    listed: RunListing
    selected: MapState
    """What is selected on the map."""
    theme: int | None
    """The chosen theme; None for all."""
    low: bool
    """Whether only sentences with low confidence are shown."""
    map_name: str

    def rows(self) -> npt.NDArray[np.intp]:
        """Return the rows of the listing, by theme and the surest first; of low confidence, the least sure first."""
        keep = np.ones(len(self.listed.ids), bool)
        if len(self.selected.ids):
            keep &= np.isin(self.listed.ids, self.selected.ids)
        if self.theme is not None:
            keep &= self.listed.labels == self.theme
        if self.low:
            keep &= self.listed.margins < 0
        rows = np.flatnonzero(keep)
        margins = self.listed.margins[rows]
        order = np.argsort(margins, kind="stable") if self.low else np.lexsort((-margins, self.listed.labels[rows]))
        found: npt.NDArray[np.intp] = rows[order]
        return found


def show_sentences(shown: Shown) -> None:
    """Draw the panel of the sentences."""
    rows, listed = shown.rows(), shown.listed
    ids = listed.ids[rows]
    ranking = Ranking(
        "Least sure first" if shown.low else "Surest first", ids, [f"{value:.2f}" for value in listed.margins[rows]]
    )
    selection_panel.show(
        Panel(
            selected(shown.analysis.corpus.id, ids, origin(shown)),
            "themes_panel",
            state.STORED,
            _THEME_SENTENCES_HEIGHT,
            view={state.RESULT: shown.analysis.name, state.VIEW: state.RESULTS},
            analysis=shown.analysis,
            ranking=ranking,
            columns=lambda wanted: _columns(listed, wanted),
            whole=np.sort(listed.ids),
            focus=shown.selected.sentence,
            on_pick=shown.selected.click,
            on_clear=shown.selected.clear if len(shown.selected.ids) else None,
        )
    )


def origin(shown: Shown) -> Origin:
    """Return how the sentences were selected."""
    if shown.selected.origin is not None:
        return shown.selected.origin
    facts, kind = [f"themes of {shown.analysis.name}"], "filter"
    if shown.low:
        facts.insert(0, "low confidence")
    if shown.theme is not None:
        facts.insert(0, f"theme {shown.theme + 1}. {shown.analysis.themes[shown.theme]['name']}")
        kind = "theme"
    if len(shown.selected.ids):
        facts.insert(0, f"lasso on map {shown.map_name}")
        kind = "lasso"
    return Origin(kind, tuple(facts))


def _columns(listed: RunListing, wanted: Ids) -> dict[str, Sequence[Any]]:
    order = np.argsort(listed.ids, kind="stable")
    rows = order[np.searchsorted(listed.ids[order], wanted)]
    columns: dict[str, Sequence[Any]] = {"margin": [round(float(value), 4) for value in listed.margins[rows]]}
    if any(listed.groups):
        columns["group"] = [listed.groups[row] for row in rows]
    return columns
