"""Search dialog of every page: finds projects, texts, units, themes, codes and pages, and does actions.

The component of the header draws the button, the dialog and its keys. While somebody types, only this part runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import streamlit as st

from themescope.core.columns import ColumnType
from themescope.core.errors import DataError, ThemescopeError
from themescope.core.labelling.operations import Origin
from themescope.core.paths import default_models
from themescope.core.records.stored import CorpusRecord, LabellingRecord, ModelRecord
from themescope.db.access import Right
from themescope.jobs.common.columns import is_list
from themescope.jobs.services import pipeline
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.search import (
    COUNTED,
    HitGroup,
    Query,
    Result,
    find_everything,
    find_similar,
    group_of,
    holds,
    parsed,
    parts_of,
    preload,
    sentences_for,
)
from themescope.webapp.shared import compare_queries, labelling, projects, queries, selections
from themescope.webapp.shared.components import draw_component, message, succeeds
from themescope.webapp.shared.navigation import current_page, offered, offered_cards, switch_page
from themescope.webapp.shared.pages import CORPUS, DOCUMENTATION, SITE
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import count, shorten

SOUGHT = "search_sought"
"""Session key: a text that a page asks the dialog to open with."""
FIND = "find"
"""Parameter of the address: what the dialog, which is open then, searches for."""
BOX = "search"
"""Session key of the component."""
_ASKED, _CHOSEN, _LISTED = "search_asked", "search_chosen", "search_listed"
"""Session keys: the query to answer; the number of an answer and the place in it that was chosen; the last answer."""
_INDEX = "searchindex.js"
_ICONS = {
    "Actions": "bolt",
    "Projects": "folder",
    "Texts": "article",
    "Units": "format_quote",
    "Themes": "category",
    "Codes": "sell",
    "Models": "model_training",
    "Pages": "web_asset",
    "Documentation": "menu_book",
}


@dataclass(frozen=True, slots=True)
class Link:
    """Target of a result: a view of a page, or an address of the documentation; and what is done before it opens."""

    page: str = ""
    view: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    do: Callable[[], object] | None = None


def link_of(kind: str, result: Result) -> Link:
    """Return where a result of the store leads to."""
    here = {CORPUS: result.project}
    if kind == "Models":
        return Link("train", {"model": result.title})
    if kind == "Themes":  # in the newest list of the project with this theme
        lists = (one for one in compare_queries.analyses() if one.corpus.name == result.project)
        newest = next((one for one in lists if any(theme["name"] == result.title for theme in one.themes)), None)
        return Link("themes", here if newest is None else {**here, "result": newest.name, "theme": result.title})
    if kind == "Projects":
        return Link("home", here)
    view = {**here, "article": result.article}
    return Link("texts", view | ({"sentence": str(result.sentence)} if result.sentence else {}))


def codes(words: Query, corpus: CorpusRecord | None) -> tuple[HitGroup, list[Link]]:
    """Return the codes of the codings of a project that this person sees, by name, those of their own coding first."""
    known = compare_queries.labellings(corpus.id) if corpus is not None else []
    known = sorted((one for one in known if "run_id" not in one.origin), key=compare_queries.precedence)
    found: dict[str, tuple[Result, Link]] = {}
    with queries.store().reading() as r:
        named = [(code.name, one.name) for one in known[:_CODINGS] for code in r.labellings.clusters(one.id).values()]
    for code, coding in named:
        if holds(code, words):
            found.setdefault(code, (Result(code, coding), Link("codebook", {"labelling": coding})))
    group = group_of("Codes", [result for result, _ in found.values()])
    return group, [link for _, link in found.values()][: len(group.results)]


def pages(words: Query) -> tuple[HitGroup, list[Link]]:
    """Return the pages whose title or summary contains the words."""
    cards = offered_cards()
    found = [card for card in cards if holds(f"{card.title} {card.summary}", words)]
    found.sort(key=lambda card: not holds(card.title, words))
    group = group_of("Pages", [Result(card.title, card.summary) for card in found])
    return group, [Link(card.id) for card in found[: len(group.results)]]


def documentation(words: Query) -> tuple[HitGroup, list[Link]]:
    """Return the sections of the documentation whose heading contains the words; none if it has not been built."""
    index = SITE / _INDEX
    headings = _headings(index, index.stat().st_mtime_ns) if index.is_file() else []
    found = [(title, page, address) for title, page, address in headings if holds(title, words)]
    found.sort(key=lambda heading: len(heading[0]))
    group = group_of("Documentation", [Result(title, page) for title, page, _ in found])
    return group, [Link(address=DOCUMENTATION + address) for _, _, address in found[: len(group.results)]]


@lru_cache(maxsize=1)
def _headings(path: Path, changed: int) -> list[tuple[str, str, str]]:
    """Return heading, title of its page and address of each section."""
    text = path.read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    names, titles = index["docnames"], index["titles"]
    return [
        (heading, titles[page], f"{names[page]}.html" + (f"#{anchor}" if anchor else ""))
        for heading, places in index["alltitles"].items()
        for page, anchor in places
    ]


_NEAREST = 20
_TEXT_CHARS, _DETAIL_CHARS, _CODINGS = 300, 140, 20


@dataclass(frozen=True, slots=True)
class Listed:
    """A group of results and where each of them leads."""

    group: HitGroup
    links: list[Link]
    number: str = ""
    """How many there are, if it is not the number of results."""

    def data(self) -> dict[str, Any]:
        """Return the group as the component draws it."""
        more = f"{COUNTED:,}+" if self.group.count > COUNTED else f"{self.group.count:,}"
        if elsewhere := self.group.here and self.group.count - self.group.here:
            more = f"{self.group.here:,} in this project, {elsewhere:,}{'+' * (self.group.count > COUNTED)} in others"
        items = [
            {
                "title": shorten(result.title, _TEXT_CHARS),
                "detail": shorten(result.detail, _DETAIL_CHARS),
                "address": link.address,
            }
            for result, link in zip(self.group.results, self.links, strict=True)
        ]
        return {"title": self.group.kind, "count": self.number or more, "icon": _ICONS[self.group.kind], "items": items}


def by_words(text: str, corpus: CorpusRecord | None) -> list[Listed]:
    """Return everything that contains the words of a text; texts of ``corpus`` come first."""
    words = parsed(text)
    if not words:
        return []
    stored = find_everything(queries.store(), text, corpus.id if corpus else 0)
    found = [Listed(group, [link_of(group.kind, result) for result in group.results]) for group in stored]
    if corpus is not None and any(listed.group.kind == "Units" for listed in found) and offered(selections.PAGE):
        origin = Origin("search", (f"search “{text.strip()}”", "all words"))
        select = Link(
            selections.PAGE,
            {CORPUS: corpus.name},
            do=lambda: selections.offer(corpus.id, sentences_for(queries.store(), corpus.id, words), origin),
        )
        every = Result(f"Select the units with “{text.strip()}”", "On the map")
        found.append(Listed(group_of("Actions", [every]), [select]))
    others = [Listed(*codes(words, corpus)), Listed(*pages(words)), Listed(*documentation(words))]
    return [*found, *(listed for listed in others if listed.links)]


def by_meaning(text: str, corpus: CorpusRecord, model: ModelRecord) -> list[Listed]:
    """Return the sentences of a corpus nearest to a text.

    Raises ``ThemescopeError`` if the model cannot embed the text, for example because it knows none of its words.
    """
    if not parsed(text):
        return []
    matches = find_similar(queries.store(), corpus.id, text, model.id, _NEAREST).items
    found = [(match.sentence, match.cosine or 0) for match in matches]
    results = [Result(s.text, f"{cosine:.2f} · {s.article}", corpus.name, s.article, s.id) for s, cosine in found]
    group = group_of("Units", results, _NEAREST)
    nearest = f"the {len(results)} nearest of {corpus.sentences:,}"
    return [Listed(group, [link_of("Units", one) for one in group.results], nearest)] if results else []


def embedded_by(corpus: CorpusRecord | None) -> ModelRecord | None:
    """Return the model to search a corpus by: a default model, else the newest one, with vectors of it; or None."""
    if corpus is None:
        return None
    places = {name: place for place, name in enumerate(default_models(is_list(corpus)))}
    with queries.store().reading() as r:
        models = sorted(reversed(r.models.list()), key=lambda model: places.get(model.name, len(places)))
        return next((model for model in models if r.embeddings.have(model.id, corpus.id)), None)


# Actions on the current project that the dialog finds and does

_SHOWN, _COLUMNS, _NAME_CHARS = 12, 8, 60
Action = tuple[str, str, Link]
"""Title, what it does, and what is opened or called."""


def matching(words: Query, project: CorpusRecord | None) -> Listed:
    """Return the actions that contain all words, those of the open page first; without words, all of them."""
    known = [one for one in _actions(project) if not one[2].page or offered(one[2].page)]
    found = [one for one in known if holds(f"{one[0]} {one[1]}", words)]
    found.sort(key=lambda one: not one[2].page or one[2].page != current_page())
    group: HitGroup = group_of("Actions", [Result(title, about) for title, about, _ in found], _SHOWN)
    return Listed(group, [link for _, _, link in found[:_SHOWN]])


def _actions(project: CorpusRecord | None) -> Iterator[Action]:
    if may(Right.MANAGE):
        yield "Add texts", "New project, or a wave of this one", Link("import")
        yield "Paste texts", "One per line", Link("home")
    if project is not None:
        yield from _of_results(project)
        if may(Right.LABEL):
            yield from _of_labels(project)


def _of_results(project: CorpusRecord) -> Iterator[Action]:
    analyses = compare_queries.analyses(project.id)
    if analyses:
        themes = f"Colour the map by {count(len(analyses[0].themes), 'theme')}"
        yield themes, "The newest result", Link("map", {"colour": analyses[0].colour_name})
    columns = [column for column in queries.columns(project) if column.type != ColumnType.TEXT]
    for column in columns[:_COLUMNS]:
        yield f"Colour the map by {column.name}", f"Column: {column.type}", Link("map", {"colour": column.name})
    if not may(Right.MANAGE):
        return
    steps = pipeline.steps_of(queries.store(), project.name)
    if any(step.active for step in steps):
        stop = partial(pipeline.cancel_pipeline, queries.store(), project.name)
        yield "Cancel the jobs of this project", "Import, themes and map", Link("jobs", do=stop)
    elif not all(step.ready for step in steps):
        begin = partial(pipeline.queue_pipeline, queries.store(), project.name, project.language)
        yield "Find themes and draw the map", "Queues what is missing", Link("themes", {"view": "Themes"}, do=begin)


def _of_labels(project: CorpusRecord) -> Iterator[Action]:
    analyses = compare_queries.analyses(project.id)
    if analyses and labelling.can_correct(analyses[0]):
        correct = partial(labelling.correct, analyses[0])
        yield "Correct the themes", "Opens your coding of the newest result", Link(do=correct)
    yield "New coding", "From themes, codes or nothing", Link("code", {"view": "New coding"})
    yield "Import labels", "Tables, and exports of other programs", Link("import")
    yield "New task", "Give units to people", Link("tasks", {"view": "New task"})
    for record in sorted(selections.own_labellings(project.id), key=compare_queries.precedence)[:1]:
        name, view = shorten(record.name, _NAME_CHARS), {"labelling": record.name}
        undo = Link("code", view | {"surface": "Sort"}, do=partial(_undo, record))
        yield f"Undo my last change in “{name}”", "Opens the coding", undo
        yield f"Label the rest of “{name}”", "Predicts codes", Link("code", view | {"view": "Label the rest"})


def _undo(record: LabellingRecord) -> None:
    if LabellingSession(queries.store(), record.id, current_person()).undo() is None:
        raise DataError(f"You changed nothing in “{record.name}” that could be undone.")


@st.fragment
def dialog() -> None:
    """Draw the button with the dialog; answer what somebody typed, and open or do what they chose."""
    _open_chosen()
    asked = st.session_state.pop(_ASKED, None)
    data: dict[str, Any] = {"label": "Search", "way": "By meaning, in this project"}
    data["find"] = st.session_state.pop(SOUGHT, st.query_params.get(FIND))
    if asked:
        data |= _answer(str(asked.get("text") or ""), bool(asked.get("meaning")), asked.get("number"))
    draw_component(
        "search",
        data=data,
        key=BOX,
        width="content",
        on_query_change=partial(_keep, _ASKED, "query"),
        on_open_change=partial(_keep, _CHOSEN, "open"),
    )


def _keep(key: str, event: str) -> None:
    """Keep what the dialog sent, until this part of the page is drawn; a callback."""
    st.session_state[key] = message(BOX, event)


def _answer(text: str, meaning: bool, number: object) -> dict[str, Any]:
    """Return what a query finds, as the component draws it, and keep where it leads."""
    project = projects.current()
    model = embedded_by(project)
    if model is not None:
        preload(queries.store(), model)
    problem, found = "", list[Listed]()
    if meaning and project is not None and model is not None:
        try:
            found = by_meaning(text, project, model)
        except ThemescopeError as error:
            problem = str(error)
    else:
        acts = matching(parsed(text), project)
        found = [*([acts] if acts.links else []), *by_words(text, project)]
    st.session_state[_LISTED] = number, [link for one in found for link in one.links]
    groups = [one.data() for one in found]
    more = {"by_meaning": model is not None, "marks": [] if meaning else parts_of(parsed(text)), "problem": problem}
    return {"number": number, "groups": groups, **more}


def _open_chosen() -> None:
    """Do what the chosen result does, and open its page; an error stays on this one."""
    chosen = st.session_state.pop(_CHOSEN, None) or {}
    number, links = st.session_state.get(_LISTED, (None, []))
    place = chosen.get("place")
    if chosen.get("number") != number or not isinstance(place, int) or not 0 <= place < len(links):
        return
    link: Link = links[place]
    if (link.do is None or succeeds(link.do)) and link.page:
        switch_page(link.page, link.view)
