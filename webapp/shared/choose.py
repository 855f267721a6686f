"""Selection of records and models, and empty states.

A selection of a record is a readable query parameter, so that a view can be linked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from themescope.core.errors import ThemescopeError
from themescope.core.models import REGISTRY
from themescope.core.paths import lacks_packages
from themescope.core.records.stored import CorpusRecord, ModelRecord, Role, Sharing
from themescope.core.text.languages import Shares
from themescope.db.access import Right
from themescope.db.store import Unit
from themescope.jobs.common.models import NOT_STORED, WITHIN_ARTICLE, language_note, within_article
from themescope.webapp.shared import people, projects, queries
from themescope.webapp.shared.components import clickable_table, confirm
from themescope.webapp.shared.navigation import (
    View,
    current_page,
    offered,
    open_project,
    page_link,
    set_parameter,
    switch_page,
    write_parameter,
)
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import distinct, plain

R = TypeVar("R")
_NO_VIEWS: Mapping[str, View] = {}
_ROWS, _LONG = 8, 12
"""Numbers of rows that are shown without scrolling, and without a search box."""


def by_name(label: str, records: Sequence[R], param: str, name: Callable[[R], str], **more: Any) -> R:
    """Choose one of ``records`` (at least one) in a select box with the URL key ``param``; equal names are numbered."""
    named = dict(zip(distinct(map(name, records)), records, strict=True))
    value, key = _held(param, list(named), next(iter(named)))
    st.selectbox(label, list(named), key=key, **more)
    return named[value]


def menu(options: Sequence[str], param: str, help: str, before: str = "", also: Mapping[str, View] = _NO_VIEWS) -> str:
    """Choose one of ``options`` in a menu, at first the first, with the URL key ``param``.

    The choice stands on its button, after ``before``. What is in ``also`` sets other URL keys, which may leave none.
    """
    held = str(st.session_state.get(param, ""))
    current = held if held in options else next(iter(options), "")

    def choose() -> None:
        chosen = st.session_state[f"{param}_menu"]
        for key, value in also.get(chosen, {param: "" if chosen == options[0] else chosen}).items():
            set_parameter(key, value)

    label = " · ".join(filter(None, (before, current)))
    st.menu_button(plain(label), [*options, *also], key=f"{param}_menu", on_click=choose, help=help, format_func=plain)
    return current


def bound(label: str, options: Sequence[str], key: str, **more: Any) -> str:
    """Choose one of ``options`` in a select box that Streamlit binds to its URL key; the first if that has no other."""
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    chosen = st.selectbox(label, options, key=key, bind="query-params", **more)
    return chosen if chosen in options else options[0]


def one_of(label: str, options: Sequence[str], param: str, default: str = "", help: str = "") -> str:
    """Choose one of ``options`` in a select box with the URL key ``param``, which the address always names.

    Its default may change: the best methods are others as soon as a better one is measured, and a link must keep
    naming what it showed.
    """
    value, key = _held(param, options, default if default in options else options[0], named=True)
    st.selectbox(label, options, key=key, help=help or None)
    return value


def segment(label: str, options: Mapping[str, str], param: str, default: str = "", help: str = "", **more: Any) -> str:
    """Choose one of ``options`` (id → title) in a segmented control; see :func:`one_of`."""
    value, key = _held(param, list(options), default if default in options else next(iter(options)), named=True)
    titles = {id: plain(title) for id, title in options.items()}
    st.segmented_control(
        label, list(options), key=key, required=True, format_func=titles.__getitem__, help=help or None, **more
    )
    return value


def _held(param: str, known: Sequence[str], default: str, named: bool = False) -> tuple[str, str]:
    """Return the choice that the session holds for a URL key, and the key of the widget that shows it.

    The address has it if it is not the default or, if ``named``, in any case.

    The widget is a new one whenever anything else than itself has changed the choice. A browser that has not drawn
    the change yet sends the old value of the old widget with every run of a fragment, and would undo it; nobody reads
    what it sends. A callback would not do: Streamlit also calls those of widgets that are gone.
    """
    turn, drawn = st.session_state.get(f"{param}_drawn", (0, None))
    held = st.session_state.get(param)
    if held == drawn:
        held = st.session_state.get(f"{param}_choice_{turn}", drawn)
    else:
        turn += 1
    value, key = str(held) if held in known else default, f"{param}_choice_{turn}"
    st.session_state[param], st.session_state[f"{param}_drawn"] = value, (turn, value)
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    if st.query_params.get(param, "" if named else default) != value:
        write_parameter(param, [value])
    return value, key


def clickable(
    records: Sequence[R],
    param: str,
    name: Callable[[R], str],
    columns: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
) -> R:
    """Choose one of ``records`` (at least one) by a click in a table, each row of which is a record.

    The choice is the URL key ``param``; without it, the first one. A long table has a search box.
    """
    names, frame = [name(record) for record in records], pd.DataFrame(columns)
    rows = _searched(frame, param) if len(records) > _LONG else list(range(len(records)))
    table = f"table-{param}-{hash(tuple(names[row] for row in rows))}"

    def choose(row: int) -> None:
        set_parameter(param, names[rows[row]])

    clickable_table(
        frame.iloc[rows],
        table,
        choose,
        column_config=config or {},
        height="content" if len(rows) <= _ROWS else 310,
        placeholder="–",
    )
    wanted = st.session_state.get(param)
    return records[names.index(wanted) if wanted in names else 0]


def _searched(frame: pd.DataFrame, param: str) -> list[int]:
    left, right = st.columns([2, 3], vertical_alignment="center")
    typed = left.text_input(
        "Find",
        key=f"find-{param}",
        placeholder="Words in any column",
        icon=":material/search:",
        label_visibility="collapsed",
    )
    cells = frame.astype(object).where(frame.notna(), "").astype(str).agg(" ".join, axis=1).str.casefold()
    wanted = (typed or "").casefold().split()
    rows = [row for row, text in enumerate(cells) if all(word in text for word in wanted)]
    right.caption(f"{len(rows):,} of {len(cells):,}")
    return rows


def open_tab(names: Sequence[str], param: str, default: str | None = None) -> tuple[str, DeltaGenerator]:
    """Draw tabs with the URL key ``param``; return the open one, at first ``default``, and its container."""
    value, key = _held(param, names, default or names[0])
    tabs = st.tabs(names, key=key, on_change="rerun")
    return value, tabs[names.index(value)]


def project() -> CorpusRecord | None:
    """Return the current project; None, with a link to the import, if there is none."""
    found = projects.current()
    if found is None:
        about = "Texts, tables, and projects of other programs can be imported."
        nothing("No project yet.", about, "import", "Import texts")
    return found


def nothing(what: str, advice: str, page: str = "", link: str = "", view: View | None = None) -> None:
    """Draw an empty state: what is missing and what to do."""
    with st.container(border=True, horizontal_alignment="center"):
        st.space("small")
        st.markdown(f"**{plain(what)}**", text_alignment="center")
        st.caption(plain(advice), text_alignment="center")
        if page:
            page_link(page, link, view=view)
        st.space("small")


class Stage(NamedTuple):
    """A step of a study, as an empty place shows it."""

    title: str
    sentence: str
    """What a person does in it."""
    done: bool
    page: str
    view: View | None = None
    needs: str = ""
    """What is missing before the step is possible; "" if it is."""
    start: Callable[[], None] | None = None
    """What the button does in place of opening the page; a callback."""


def study_steps() -> list[Stage]:
    """Return the steps from texts to shares in the current project, the same in every place."""
    corpus_id = projects.current_id()
    with queries.store().reading() as r:
        labellings = r.labellings.list(corpus_id)
        people = [one for one in labellings if not one.by_model]
        tasks = [r.tasks.items(task.id) for task in r.tasks.list(corpus_id)]
        labelled = any(r.predictions.newest(one.id) for one in people)
    tables = sum(one.origin.get("from") == "table" for one in people)  # coded elsewhere
    coders = max([tables, *(len({item.person for item in items if item.done}) for items in tasks)])
    gold = any(one.kind is Sharing.GOLD for one in people)
    finished = any(items and all(item.done for item in items) for items in tasks)
    return [
        Stage("Write the codebook", "The codes, with a rule for each.", bool(people), "codebook"),
        Stage("Draw a sample", "Units at random, given to one or several people.", bool(tasks), "tasks",
             {"view": "New task"}, "" if people else "Needs a codebook."),
        Stage("Code", "Each person gives the units of the sample their codes.", finished or bool(tables), "tasks",
             None, "" if tasks else "Needs a sample."),
        Stage("Compare", "How far people agree; settle what they disagree on.", gold, "agreement",
             None, "" if coders > 1 else "Needs the codings of two people."),
        Stage("Label the rest", "The machine codes all other units, and its error is measured.", labelled, "code",
             {"view": "Label the rest"}, "" if coders else "Needs coded units."),
    ]  # fmt: skip


def steps(found: Sequence[Stage]) -> Stage | None:
    """Draw an empty place as its numbered steps, and return the first one that is left to do and possible.

    That one has the primary button, unless it is a step of the page that is open and names no view: the page itself
    shows how to do it.
    """
    following = next((step for step in found if not step.done and not step.needs), None)
    with st.container(border=True, key="steps", width=760):
        for number, step in enumerate(found, 1):
            with st.container(horizontal=True, vertical_alignment="center", key=f"item-step-{number}"):
                mark = ":green[:material/check_circle:]" if step.done else f"**{number}**"
                about = step.sentence if step.done or not step.needs else step.needs
                st.markdown(f"{mark} **{plain(step.title)}** :gray[· {plain(about)}]", width="stretch")
                here = step.page == current_page() and step.view is None and step.start is None
                if step is not following or here or not offered(step.page):
                    continue
                look: dict[str, Any] = {"type": "primary", "icon": ":material/arrow_forward:", "key": "next-step"}
                if st.button(plain(step.title), **look, on_click=step.start) and step.start is None:
                    switch_page(step.page, step.view)
    return following


def no_sections(corpus: CorpusRecord, why: str) -> None:
    """Draw the empty state of a project whose texts have no sections, with the step that helps."""
    other = next((record for record in projects.by_activity(queries.corpora()) if record.has_sections), None)
    what = f"“{corpus.name}” has no sections."
    if other is None:
        nothing(what, f"{why} Import articles with headings.", "import", "Import articles")
    else:
        nothing(what, f"{why} “{other.name}” has some.", current_page(), f"Open {other.name}", {"corpus": other.name})


def method_title(method: str) -> str:
    """Return the title of a method; its id if it has no card in this version."""
    return REGISTRY.get(method).title if method in REGISTRY else method


def grouped_by_method(models: Sequence[ModelRecord]) -> list[ModelRecord]:
    """Return the models grouped by method, newest first; methods are ordered by their newest model."""
    newest = sorted(models, key=lambda model: (model.created, model.id), reverse=True)
    return grouped(newest, lambda model: model.method)


def grouped(found: Sequence[R], group: Callable[[R], str]) -> list[R]:
    """Return the items sorted by group; groups are ordered by their first item, and each keeps its order."""
    place = {name: number for number, name in enumerate(dict.fromkeys(map(group, found)))}
    return sorted(found, key=lambda one: place[group(one)])


def with_tag(models: Sequence[ModelRecord], tag: str) -> list[ModelRecord]:
    """Return the models whose method has ``tag``, grouped by method."""
    return [m for m in grouped_by_method(models) if m.method in REGISTRY and tag in REGISTRY.get(m.method).tags]


def model_notes(model: ModelRecord, shares: Shares, articles: bool = True) -> None:
    """Draw what to know before a model is used on text with these ``shares`` of languages.

    That its vectors depend on the article is said where the text has ``articles``.
    """
    note = language_note(queries.store(), model, shares)
    if note:
        st.warning(plain(note), icon=":material/translate:")
    if articles and within_article(model):
        st.caption(WITHIN_ARTICLE)


def fine_tunable(models: Sequence[ModelRecord]) -> list[ModelRecord]:
    """Return the models that another training can start from, newest first."""
    return [m for m in models if m.method in REGISTRY and "fine-tunable" in REGISTRY.get(m.method).tags][::-1]


def model_label(model: ModelRecord) -> str:
    """Return the label of a model: its name and its method, and whether it is a pretrained one not stored yet."""
    label = f"{model.name} · {method_title(model.method)}"
    if lacks_packages(model.name):
        return f"{label} · needs further packages"
    return f"{label} · pretrained" if model.id == NOT_STORED else label


def preselected(models: Sequence[ModelRecord]) -> list[str]:
    """Return the names of the models that a form suggests: the first four that this installation can run."""
    return [model.name for model in models if not lacks_packages(model.name)][:4]


def one_model(label: str, models: Sequence[ModelRecord], key: str, help: str = "") -> ModelRecord:
    """Choose one of ``models`` (at least one), by default the first, in a form; the choice is not part of the URL."""
    known = {model.name: model for model in grouped(models, lambda model: model.method)}
    if st.session_state.get(key) not in known:
        st.session_state.pop(key, None)
    chosen = st.selectbox(
        label, list(known), format_func=lambda name: model_label(known[name]), key=key, help=help or None
    )
    return known[chosen if chosen in known else next(iter(known))]


_LOG = logging.getLogger(__name__)
_NAMED = 3
"""Number of admins that a message names."""
BROKEN = "This page failed."
"""First sentence of the message about an unexpected error."""


def guarded(draw: Callable[[], object]) -> None:
    """Run ``draw``; show its errors as messages, and log unexpected ones."""
    try:
        draw()
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
    except Exception as error:
        _LOG.exception("Unhandled error in a page")
        st.error(
            f"**{BROKEN}** Stored data is unchanged. Reload the page. If the error persists, start the server with "
            "`--verbose` and read its log.  \n"
            f"{plain(type(error).__name__)}: {plain(error)}",
            icon=":material/error:",
        )
        page_link("home", "Back to Home", icon=":material/arrow_back:")


def closed(what: str, right: Right = Right.MANAGE) -> bool:
    """Return whether this person lacks a right; shows a message in place of the form for ``what``."""
    if may(right):
        return False
    named = queries.read(lambda r: [person.name for person in r.people.list() if person.role is Role.ADMIN])
    listed = ", ".join(named[:_NAMED]) + (" or another" if len(named) > _NAMED else "")
    own = "" if people.sign_in_required() else " If you are an admin, enter your name in the menu."
    admins = f"an admin: {listed}.{own}" if named else "an admin."
    role = "admin" if right is Right.MANAGE else "coder"
    nothing(f"{what} requires the {role} role.", f"You can view everything. To change your role, ask {admins}")
    return True


def delete_button(noun: str, name: str, along: str, delete: Callable[[Unit], None]) -> None:
    """Draw a button that confirms before it calls ``delete`` with the store's repositories; admins only."""
    if may(Right.MANAGE) and st.button(
        f"Delete this {noun} …", icon=":material/delete:", type="tertiary", key=f"delete-{noun}"
    ):
        about = f"**{plain(name)}**{' with ' + plain(along) if along else ''}. This cannot be undone."
        confirm(f"Delete this {noun}?", about, "Delete", lambda: queries.write(delete))


def delete_project(corpus: CorpusRecord) -> None:
    """Ask in a dialog for the name of a project, and delete it."""
    about = f"**{plain(corpus.name)}** with everything made of it: themes, codings, maps, tasks. This cannot be undone."
    confirm(
        "Delete this project?",
        about,
        "Delete",
        lambda: queries.write(lambda w: w.corpora.delete(corpus.id)),
        typed=corpus.name,
    )


def rename_project(corpus: CorpusRecord) -> None:
    """Ask in a dialog for another name of a project."""
    key = f"project_renamed_{corpus.id}"

    def change() -> bool:
        name = str(st.session_state.get(key, "")).strip()
        done = queries.write(lambda w: w.corpora.rename(corpus.id, name))
        if done and corpus.id == projects.current_id():
            open_project(name)
        return done

    confirm(
        "Rename project",
        "Links with the old name lead nowhere.",
        "Rename",
        change,
        ":material/edit:",
        field=lambda: st.text_input("Project name", corpus.name, key=key),
    )
