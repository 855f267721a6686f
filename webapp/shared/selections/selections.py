"""Selections of this session: the one that a page offers to the map, the stored ones, and their sentences.

Any page calls :func:`offer_button` with the sentences that it shows; the map then opens them in its drawer. Pages with
a map or a list of their own draw :func:`themescope.webapp.shared.selections.selection_panel.show` instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import numpy as np
import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.labelling.operations import Origin, Selection, selected
from themescope.core.records.stored import CorpusRecord, LabellingRecord, SelectionRecord
from themescope.core.types import Ids
from themescope.db.records import SentencePlaces
from themescope.jobs.services import selections as service
from themescope.jobs.services.selections import SelectedSentences
from themescope.webapp.shared import queries
from themescope.webapp.shared.navigation import shown_view, switch_page
from themescope.webapp.shared.pages import CORPUS
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.results.compare_queries import Analysis

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


def offer_button(
    label: str, corpus_id: int, ids: Callable[[], Iterable[int] | Ids], origin: Origin, key: str = ""
) -> None:
    """Draw a button that opens sentences as a selection of the map; ``ids`` is called on a click."""
    button = key or f"offer-{label}-{origin}"
    if st.button(label, icon=":material/select_all:", key=button, help="Selects these units on the map."):
        offer(corpus_id, ids(), origin)
        corpus = queries.read(lambda r: r.corpora.get(corpus_id))
        switch_page(PAGE, {"corpus": corpus.name})


# ---------------------------------------------------------------- stored selections


def saved(corpus_id: int) -> list[SelectionRecord]:
    """Return the named selections of a project, newest first."""
    return queries.read(lambda r: r.selections.list(corpus_id))


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


def link_to(record: SelectionRecord, url_key: str, replaced: Iterable[str], view: Mapping[str, str]) -> str:
    """Return the address of the view that is open, with a stored selection in place of the keys in ``replaced``."""
    corpus = queries.read(lambda r: r.corpora.get(record.corpus_id))
    query: dict[str, str | list[str]] = {CORPUS: corpus.name, **view}
    query |= {name: values for name, values in shown_view().items() if name not in set(replaced)}
    query[url_key] = str(record.id)
    parts = urlsplit(st.context.url or "")
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(query, doseq=True), ""))


# ---------------------------------------------------------------- what is shown of a selection


_THEMES: dict[str | type[Any], Callable[[Any], Any]] = {
    Analysis: lambda found: (found.run.digest, [theme["name"] for theme in found.themes])
}


@st.cache_resource(show_spinner="Reading units …", max_entries=12, hash_funcs=_THEMES)
def sentences(
    _ids: Ids, digest: str, analysis: Analysis | None, _places: Callable[[], SentencePlaces] | None = None
) -> SelectedSentences:
    """Return sentences with their themes; ``digest`` is the hash of the ids, and ``_places`` spares a query."""
    run = analysis.run if analysis is not None else None
    return service.read_sentences(queries.store(), _ids, run, _places() if _places is not None else None)


def everything(selection: Selection) -> Ids:
    """Return the ids of all sentences of the project of a selection, ascending."""
    return _everything(corpus_of(selection))


@st.cache_resource(show_spinner=False, max_entries=4, hash_funcs=queries.HASHES)
def _everything(corpus: CorpusRecord) -> Ids:
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
