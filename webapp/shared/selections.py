"""Selections of sentences: the session's own, stored ones, their panel, and what can be done with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from themescope.core.columns import ColumnType
from themescope.core.errors import ThemescopeError
from themescope.core.labelling.changes import Step
from themescope.core.labelling.operations import Origin, Selection, selected
from themescope.core.records.stored import CorpusRecord, LabellingRecord, SelectionRecord, Sharing
from themescope.core.types import Ids
from themescope.db.access import Right
from themescope.db.records import NewLabelling, SentencePlaces
from themescope.jobs.services import failures as failure_service
from themescope.jobs.services import selections as service
from themescope.jobs.services.failures import CollectedFailure
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.search import parsed, units_about
from themescope.jobs.services.selections import SelectedSentences
from themescope.jobs.services.table_files import excel_bytes
from themescope.webapp.shared import compare_queries, labelling, queries, unit_list
from themescope.webapp.shared.compare_queries import Analysis
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.forms import Table, table_files
from themescope.webapp.shared.navigation import page_link, saved_line, shown_view, switch_page
from themescope.webapp.shared.pages import CORPUS
from themescope.webapp.shared.people import current_actor, current_person, may
from themescope.webapp.shared.text import count, plain, shorten

# Selections of this session: the one that a page offers to the map, the stored ones, and their sentences

_OFFERED = "selection_offered"
PAGE = "map"
READING, CENTRAL = "Reading order", "Most central"
"""Orders of the sentences of a selection, beside that of the page."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """An order of the sentences that the page has, such as similarity to a search."""

    name: str
    ids: Ids
    notes: Sequence[str] = ()
    """A short text for each, such as its similarity."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A selection and how the page shows it."""

    selection: Selection
    key: str
    """Prefix of the session keys of its widgets."""
    url_key: str
    """URL key of the page for the id of a stored selection."""
    height: int = 420
    replaced: tuple[str, ...] = ()
    """URL keys of the page that a stored selection replaces in links, such as the shape of a lasso."""
    view: Mapping[str, str] = field(default_factory=dict)
    """Values of URL keys that links name also where they are the defaults, which may change."""
    analysis: Analysis | None = None
    """The themes that are named beside the sentences; by default the newest of the project."""
    ranking: Ranking | None = None
    columns: Callable[[Ids], Mapping[str, Sequence[Any]]] | None = None
    """Returns further columns of files, for sentences by their ids."""
    places: Callable[[], SentencePlaces] | None = None
    """Returns the places of the sentences, where the page knows them."""
    heading: str = ""
    """Title instead of the number of sentences."""
    groups: Counter[str] | None = None
    """Number of sentences of each group that the page shows; by default of each theme."""
    mark: str = ""
    """Text that is highlighted in the sentences."""
    focus: int = -1
    """Id of the sentence that is marked in the list."""
    on_pick: Callable[[int], None] | None = None
    on_clear: Callable[[], None] | None = None
    clear: str = "Clear"
    """Label of the button that calls it."""
    on_similar: Callable[[int], None] | None = None
    """Searches for the nearest neighbours of a sentence, where the page has a search."""

    @property
    def orders(self) -> list[str]:
        """The orders of the sentences, the first at first."""
        return [*([self.ranking.name] if self.ranking is not None else []), READING, CENTRAL]

    @property
    def order(self) -> str:
        """The chosen order."""
        chosen = st.session_state.get(f"{self.key}-order")
        return chosen if chosen in self.orders else self.orders[0]

    @property
    def themes(self) -> Analysis | None:
        """The themes that are named beside the sentences."""
        return self.analysis or next(iter(compare_queries.analyses(self.selection.corpus_id)), None)

    def read(self) -> SelectedSentences:
        """Return the sentences."""
        return sentences(self.selection.ids, self.selection.digest, self.themes, self.places)

    def central(self, found: SelectedSentences) -> tuple[list[int], list[str]] | None:
        """Return the rows of the sentences, most central first, with a note for each; None without their vectors."""
        model_id = self.themes.model.id if self.themes else None
        model = service.model_of(queries.store(), self.selection.corpus_id, found, model_id)
        return central_order(self.selection.digest, model.digest, found, model) if model is not None else None

    def name(self, part: str) -> str:
        """Return the key of a widget that belongs to this selection."""
        return f"{self.key}-{part}-{self.selection.digest[:8]}"


def offer(corpus_id: int, ids: Iterable[int] | Ids, origin: Origin) -> None:
    """Make sentences the selection that the map shows next; for callbacks and before a link to the map."""
    st.session_state[_OFFERED] = selected(corpus_id, ids, origin)


def offered(corpus_id: int, keep: bool = False) -> Selection | None:
    """Return the selection that a page offered last in this session, if it is of this project; once, unless kept."""
    found: Selection | None = st.session_state.get(_OFFERED)
    if found is None or found.corpus_id != corpus_id:
        return None
    if not keep:
        del st.session_state[_OFFERED]
    return found


def offer_button(label: str, corpus_id: int, ids: Callable[[], Iterable[int] | Ids], origin: Origin) -> None:
    """Draw a button that opens sentences as a selection of the map; ``ids`` is called on a click."""
    key = f"offer-{label}-{origin}"
    if st.button(label, icon=":material/select_all:", key=key, help="Selects these units on the map."):
        offer(corpus_id, ids(), origin)
        corpus = queries.read(lambda r: r.corpora.get(corpus_id))
        switch_page(PAGE, {"corpus": corpus.name})


def stored(record_id: int) -> Selection | None:
    """Return a stored selection, or None if there is none with that id."""
    try:
        return queries.read(lambda r: r.selections.selection(record_id))
    except ThemescopeError:
        return None


def from_address(url_key: str) -> Selection | None:
    """Return the stored selection whose id the address has under ``url_key``; None without one."""
    text = st.query_params.get(url_key, "")
    return stored(int(text)) if text.isascii() and text.isdecimal() and len(text) < 18 else None


def store(selection: Selection, name: str = "") -> SelectionRecord:
    """Store a selection; raise a ``ThemescopeError`` if that is not allowed."""
    person = current_person()
    with queries.store().writing() as w:
        return w.selections.add(selection, name, person)


@st.cache_resource(
    show_spinner="Reading units …",
    max_entries=12,
    hash_funcs={Analysis: lambda found: (found.run.digest, [theme["name"] for theme in found.themes])},
)
def sentences(
    _ids: Ids, digest: str, analysis: Analysis | None, _places: Callable[[], SentencePlaces] | None = None
) -> SelectedSentences:
    """Return sentences with their themes; ``digest`` is the hash of the ids, and ``_places`` spares a query."""
    run = analysis.run if analysis is not None else None
    return service.read_sentences(queries.store(), _ids, run, _places() if _places is not None else None)


@st.cache_resource(show_spinner=False, max_entries=4, hash_funcs=queries.HASHES)
def everything(corpus: CorpusRecord) -> Ids:
    """Return the ids of all sentences of a project, ascending."""
    return np.sort(queries.read(lambda r: r.corpora.sentence_ids(corpus.id)))


@st.cache_data(show_spinner="Comparing words …", max_entries=32)
def distinctive_words(digest: str, _ids: Ids, _others: Ids) -> tuple[str, ...]:
    """Return the words that are frequent in a set of sentences and rare in others; ``digest`` is that of its ids."""
    return service.distinctive_words(queries.store(), _ids, _others)


@st.cache_data(show_spinner="Measuring centrality …", max_entries=16)
def central_order(
    digest: str, model_digest: str, _found: SelectedSentences, _model: object
) -> tuple[list[int], list[str]]:
    """Return the rows of sentences, most central first, and the cosine of each to the mean as text."""
    cosines = service.centrality(queries.store(), _model, _found)  # type: ignore[arg-type]
    order = (-cosines).argsort(kind="stable")
    return order.tolist(), [f"{value:.2f}" for value in cosines[order].tolist()]


def corpus_of(selection: Selection) -> CorpusRecord:
    """Return the project of a selection."""
    return queries.read(lambda r: r.corpora.get(selection.corpus_id))


def own_labellings(corpus_id: int) -> list[LabellingRecord]:
    """Return the labellings of a project that this person may change, newest first."""
    person = current_person()
    role = queries.read(lambda r: r.people.role(person))
    return [found for found in compare_queries.labellings(corpus_id) if found.editable_by(person, role)]


# What one can do with a selection: make it a theme, code it, save, link, export and sort it

_NEW, _TICKED, _MISSING = "New coding", 200, "missing_theme"
_NONE: Ids = np.empty(0, np.int64)


def show_actions(of: Panel) -> None:
    """Draw the two main actions and the menu of the others; each opens a dialog."""
    turn = st.session_state.get(f"{of.key}-asked", (0, "", ""))[0]
    with st.container(horizontal=True, gap="xsmall", key=f"{of.key}-selection-actions"):
        if may(Right.LABEL):
            _button(of, "Make it a theme", type="primary")
            _button(of, "Code it")
        # With another key the menu is a new one, which is closed: an open one would lie on the dialog.
        with st.popover("⋯", key=f"{of.key}-more-{turn}", help="More"):
            _menu(of)
    _outcome(of)
    _, asked, digest = st.session_state.get(f"{of.key}-asked", (0, "", ""))
    if asked and digest == of.selection.digest:
        st.dialog(asked, width="medium", on_dismiss=partial(close, of.key))(_DIALOGS[asked])(of)


def _menu(of: Panel) -> None:
    entry: dict[str, Any] = {"type": "tertiary", "width": "content"}
    with st.container(gap=None, width=230, key=f"{of.key}-menu"):
        for title in ("Save", "Link", "Export", "Sort"):
            if may(Right.LABEL) or title == "Export":
                _button(of, title, **entry)
        if of.on_similar is not None:
            st.button("Similar", key=of.name("similar"), on_click=lambda: _similar(of), **entry)
        if may(Right.LABEL):
            batch = f"Selection: {shorten(str(of.selection.origin), 120)}"
            st.button(
                "Collect as errors",
                key=f"collect-{of.key}",
                help="Kept with their context, for the page Errors.",
                on_click=lambda: labelling.collect(of.selection.corpus_id, batch, lambda: _failures(of)),
                **entry,
            )
        if st.session_state.get(f"{of.key}-order") not in of.orders:
            st.session_state.pop(f"{of.key}-order", None)
        st.selectbox("Order", of.orders, key=f"{of.key}-order")
        st.markdown(f":small[{plain(shorten(str(of.selection.origin), 200))}]")


def _button(of: Panel, title: str, **options: Any) -> None:
    """Draw a button that opens the dialog with that title, until it is closed or the selection changes."""

    def ask() -> None:
        turn = st.session_state.get(f"{of.key}-asked", (0, "", ""))[0]
        st.session_state[f"{of.key}-asked"] = (turn + 1, title, of.selection.digest)

    st.button(title, key=of.name(f"ask-{title}"), on_click=ask, **options)


def close(key: str) -> None:
    """Close the dialog of the panel with this key."""
    st.session_state[f"{key}-asked"] = (st.session_state.get(f"{key}-asked", (0, "", ""))[0] + 1, "", "")


def _similar(of: Panel) -> None:
    """Search for the neighbours of the sentence in focus, else of the most central one."""
    sentence = of.focus
    if sentence not in of.selection.ids:
        found = of.read()
        central = of.central(found)
        sentence = int(found.ids[central[0][0] if central else 0])
    if of.on_similar is not None:
        of.on_similar(sentence)


def _make_theme(of: Panel, alike: Ids = _NONE, sought: str = "") -> None:
    """Draw the units with ticks, at first of all but those of ``alike``, and the name of their theme."""
    rest = np.setdiff1d(everything(corpus_of(of.selection)), of.selection.ids, assume_unique=True)
    words = distinctive_words(of.selection.digest, of.selection.ids, rest)
    ids = np.concatenate([np.setdiff1d(of.selection.ids, alike), alike])
    ticked, listed = np.arange(len(ids)) < len(ids) - len(alike), ids[:_TICKED].tolist()
    texts = compare_queries.sentence_texts(listed)
    shown = st.data_editor(
        pd.DataFrame({"In it": ticked[:_TICKED], "Unit": [texts.get(id, "") for id in listed]}),
        height=260,
        hide_index=True,
        disabled=["Unit"],
        key=of.name("ticks"),
        column_config={"In it": st.column_config.CheckboxColumn(width=60), "Unit": {"width": 600}},
    )
    ticked[:_TICKED] = shown["In it"]
    name = st.text_input("Name", value=sought or " · ".join(words[:3]), key=of.name("theme-name"), max_chars=200)
    coding = _choose_coding(of, "In", "theme", bool(sought))
    more = f" {len(ids) - _TICKED:,} more than listed are among them." if len(ids) > _TICKED else ""
    st.caption(f"{count(int(ticked.sum()), 'unit')} in a theme of the coding; what the machine found stays.{more}")
    if st.button("Create theme", type="primary", key=of.name("create"), disabled=not name or not ticked.any()):
        chosen = selected(of.selection.corpus_id, ids[ticked], of.selection.origin)
        _change(
            of,
            coding,
            lambda record: service.new_cluster(queries.store(), chosen, record, name or "", current_person()),
            bool(sought),
        )


def missing_theme(analysis: Analysis) -> None:
    """Draw the button of a dialog that makes a theme of units which somebody describes."""

    def turn(on: bool) -> None:
        st.session_state[_MISSING] = on

    title = "Add a missing theme"
    st.button(title, icon=":material/add:", on_click=turn, args=(True,))
    if st.session_state.get(_MISSING):
        st.dialog(title, width="medium", on_dismiss=partial(turn, False))(_missing)(analysis)


def _missing(analysis: Analysis) -> None:
    """Draw what somebody misses in words or by an example, the units with the words, ticked, and others alike."""
    sought = st.text_input(
        "Words or an example of it", key="missing-sought", placeholder='rent OR "new flats"', icon=":material/search:"
    )
    if not parsed(sought or ""):
        st.caption("Units with the words are listed and ticked, and after them others of a similar meaning.")
        return
    found, alike = units_about(queries.store(), analysis.corpus.id, sought, analysis.model.id)
    origin = Origin("search", (f"search “{shorten(sought, 120)}”", "and units alike"))
    chosen = selected(analysis.corpus.id, np.concatenate([found, alike]), origin)
    if len(chosen):
        _make_theme(Panel(chosen, "missing", "map_selection", analysis=analysis), alike, shorten(sought, 60))
    else:
        st.caption("No unit has these words or a similar meaning.")


def _code(of: Panel) -> None:
    coding = _choose_coding(of, "Coding", "code")
    if not isinstance(coding, LabellingRecord):
        st.caption("A new coding has no codes of yours yet. “Make it a theme” adds one.")
        return
    clusters = queries.read(lambda r: r.labellings.snapshot(coding.id).partition.clusters)
    if not clusters:
        st.caption("This coding has no codes yet. “Make it a theme” adds one.")
        return
    chosen = st.selectbox(
        "Code", sorted(clusters), format_func=lambda n: clusters[n].name, key=of.name(f"cluster-{coding.id}")
    )
    if st.button(f"Code {count(len(of.selection), 'unit')}", type="primary", key=of.name("assign")):
        _change(
            of,
            coding,
            lambda record: service.assign(queries.store(), of.selection, record, int(chosen), current_person()),
        )


Target = LabellingRecord | starts.Begin


def _choose_coding(of: Panel, label: str, part: str, beside: bool = False) -> Target:
    """Choose a coding that this person may change, or a new one from the themes or without codes.

    At first it is no gold coding, which has a sample only; with ``beside``, it is one that has the themes.
    """
    own = sorted(own_labellings(of.selection.corpus_id), key=lambda record: record.kind is Sharing.GOLD)
    themes, place = of.themes, 0
    if beside and themes is not None:
        own.sort(key=lambda record: record.origin.get("run_id") != themes.run.id)
        place = 0 if own and own[0].origin.get("run_id") == themes.run.id else len(own)
    options: dict[str, Target] = {record.name: record for record in own}
    if themes is not None:
        options[f"{_NEW} from {len(themes.themes)} themes by {themes.model.name}"] = starts.from_themes(themes.run.id)
    options[f"{_NEW} without codes"] = starts.from_nothing
    chosen = st.selectbox(label, list(options), place, key=of.name(f"{part}-coding-{len(options)}"))
    return options[chosen]


def _coding(of: Panel, target: Target) -> LabellingRecord:
    """Return the chosen coding, which is created if it is a new one."""
    if isinstance(target, LabellingRecord):
        return target
    corpus = corpus_of(of.selection)
    new = NewLabelling(corpus.id, f"{corpus.name} themes", current_person(), Sharing.OWN)
    with st.spinner("Creating the coding …"):
        return starts.begin(queries.store(), new, target)


def _change(of: Panel, target: Target, change: Callable[[LabellingRecord], Step | None], opens: bool = False) -> None:
    def apply() -> None:
        record = _coding(of, target)
        step = change(record)
        if opens:
            st.session_state[_MISSING] = False
            switch_page("code", compare_queries.edit_view(record.name))
        said = f"{step.summary}, in “{record.name}”" if step is not None else f"No change needed in “{record.name}”"
        st.session_state[f"{of.key}-outcome"] = (of.selection.digest, said, record.name)
        close(of.key)
        st.rerun()

    attempt(apply)


def _outcome(of: Panel) -> None:
    """Say what the last action did, with a link to the coding, until something else is selected."""
    digest, said, coding = st.session_state.get(f"{of.key}-outcome") or ("", "", "")
    if digest == of.selection.digest:
        st.success(f"{plain(said)}.", icon=":material/check:")
        with st.container(horizontal=True):
            page_link("code", "Open in Code", view=compare_queries.edit_view(coding), key=of.name("open"))
            corpus = corpus_of(of.selection)
            if column := next((c.label for c in queries.columns(corpus) if c.type == ColumnType.CATEGORY), ""):
                page_link("themes", f"By {column}", view={"view": "By column"}, key=of.name("by-column"))


def _sort(of: Panel) -> None:
    target = _choose_coding(of, "Coding", "sort")
    if st.button("Open", type="primary", key=of.name("sort")):
        opened = attempt(lambda: (_coding(of, target), store(of.selection)))
        if opened is not None:
            close(of.key)
            switch_page("code", compare_queries.selection_view(opened[0].name, opened[1].id))


def _failures(of: Panel) -> list[CollectedFailure]:
    """Return the selected sentences as failures; their link opens this view with the stored selection."""
    found, ids = of.read(), of.selection.ids
    themes = {int(found.ids[row]): found.theme(row) for row in found.rows_of(ids).tolist()}
    models = (of.themes.model.name,) if of.themes is not None and any(themes.values()) else ()
    source, link = f"selection: {shorten(str(of.selection.origin), 200)}", labelling.permalink(of.view)
    return failure_service.sentences(
        queries.store(), ids.tolist(), failure_service.SENTENCE, source, themes, link, models
    )


def _export(of: Panel) -> None:
    st.caption(f"{count(len(of.selection), 'unit')} with their theme, place and columns.")
    with st.container(horizontal=True):
        table_files(of.selection.corpus_id, "selection", partial(_table, of), partial(excel_bytes, title="selection"))


def _table(of: Panel) -> Table:
    found = of.read()
    further = of.columns(found.ids) if of.columns is not None else {}
    rows = service.rows(queries.store(), found)
    if further:
        rows = [(*row, *more) for row, more in zip(rows, zip(*further.values(), strict=True), strict=True)]
    return (*service.HEADER, *further), rows


def _link(of: Panel) -> None:
    """Draw the address of the view that is open, with the stored selection in place of the keys that it replaces."""
    record = attempt(lambda: store(of.selection))
    if record is not None:
        query: dict[str, str | list[str]] = {CORPUS: corpus_of(of.selection).name, **of.view}
        query |= {name: values for name, values in shown_view().items() if name not in of.replaced}
        query[of.url_key] = str(record.id)
        st.caption("Opens this view with these units, for everyone who may use this store.")
        parts = urlsplit(st.context.url or "")._replace(query=urlencode(query, doseq=True), fragment="")
        st.code(urlunsplit(parts), language=None, wrap_lines=True)


def _save(of: Panel) -> None:
    if may(Right.LABEL):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input("Name", key=of.name("save-name"), max_chars=200)
            pressed = st.button(
                "Save selection", type="primary", key=of.name("save"), disabled=not (name or "").strip()
            )
        if pressed and (record := attempt(lambda: store(of.selection, name or ""))):
            st.success(f"Saved as “{plain(record.name)}”. The menu of the map lists it.", icon=":material/check:")


def saved_list(corpus_id: int, open_one: Callable[[SelectionRecord], None]) -> None:
    """Draw the saved selections of a project, each with buttons that open and delete it."""
    actor, found = current_actor(), queries.read(lambda r: r.selections.list(corpus_id))
    if not found:
        st.caption("No selection is saved yet: select units, then ⋯ and Save in the drawer.")
    for record in found:
        facts = plain(shorten(" · ".join(record.origin.get("facts", ())), 90))
        about = f"{count(record.sentences, 'unit')} · {facts} · "
        saved_line("selection", record, about, actor, partial(open_one, record))


_DIALOGS: dict[str, Callable[[Panel], None]] = {
    "Make it a theme": _make_theme,
    "Code it": _code,
    "Save": _save,
    "Link": _link,
    "Export": _export,
    "Sort": _sort,
}


# The drawer of a selection: how many units of which themes, what to do with them, and their texts in full

_NAMED, _NAME = 3, 30
"""Number of groups that the summary names, and the length of their names."""


def show(panel: Panel) -> None:
    """Draw the drawer."""
    with st.container(gap="small", key=f"{panel.key}-selection-panel"):
        with st.container(horizontal=True, vertical_alignment="top", gap="small", wrap=False):
            heading = f"**{plain(panel.heading or count(len(panel.selection), 'unit'))}**"
            groups = _summary(panel)
            st.markdown(heading + (f" :small[:gray[· {plain(groups)}]]" if groups else ""), width="stretch")
            if panel.on_clear is not None:
                st.button(panel.clear, on_click=panel.on_clear, type="tertiary", key=f"{panel.key}-clear")
        if not len(panel.selection):
            st.caption("No units. Change the search or the filters, or select others on the map.")
            return
        show_actions(panel)
        rows, notes = _ordered(panel)
        units = unit_list.of_sentences(panel.read(), rows, notes, panel.mark)
        unit_list.show(units, f"{panel.key}-sentences", panel.height, panel.focus, panel.on_pick)


def _summary(panel: Panel) -> str:
    """Return the largest groups of the units, such as "31 Buses and trains, 6 Parks and air"."""
    counted = panel.groups if panel.groups is not None else panel.read().theme_counts()
    named = [f"{n:,} {shorten(name.split(' · ')[0], _NAME)}" for name, n in counted.most_common(_NAMED)]
    rest = sum(counted.values()) - sum(n for _, n in counted.most_common(_NAMED))
    return ", ".join([*named, *([f"{rest:,} others"] if rest else [])])


def _ordered(panel: Panel) -> tuple[npt.NDArray[np.intp], Sequence[str]]:
    """Return the rows of the units in the chosen order, and a note for each."""
    found, order = panel.read(), panel.order
    if panel.ranking is not None and order == panel.ranking.name:
        return found.rows_of(panel.ranking.ids), panel.ranking.notes
    if order == CENTRAL:
        central = panel.central(found)
        if central is not None:
            return np.array(central[0], dtype=np.intp), central[1]
    return np.arange(len(found.ids)), ()
