"""Labellings on several pages: tasks, codebook entries, collecting of failures, and names by a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal, NoReturn
from urllib.parse import urlencode

import streamlit as st

from themescope.core.errors import ConfigError
from themescope.core.labelling.codebook.entries import (
    EXAMPLE_LIMIT,
    SENTENCES,
    TEXT_LIMIT,
    TEXTS,
    Code,
    CodebookEntry,
    Difference,
    Piece,
)
from themescope.core.labelling.partition import NAME_LIMIT, UNASSIGNED, Cluster, Partition, has_code
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.db.access import Right
from themescope.db.records import ItemRecord, MemberRecord, NewLabelling, TaskRecord
from themescope.jobs.common.language_models import UNSET, Endpoint, ThemeMaterial, agreed_digest, amount
from themescope.jobs.services import failures
from themescope.jobs.services import tasks as work
from themescope.jobs.services.failures import CollectedFailure
from themescope.jobs.services.labelling import starts
from themescope.webapp.shared import compare_queries, queries
from themescope.webapp.shared.compare_queries import Analysis
from themescope.webapp.shared.components import ASSETS, attempt, succeeds
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.navigation import current_page, shown_view, switch_page
from themescope.webapp.shared.pages import CORPUS
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import count, plain, shorten

# Codebook entries on pages: to read, to edit, and the differences between two states

STYLE = ASSETS / "codebook.css"
_ORDER = ("definition", "include", "exclude", "examples", "counter_examples", "notes")
_HELP = {
    "definition": "What the code is about, in one or two sentences.",
    "include": "What belongs into it: one rule on each line.",
    "exclude": "What does not, although one might think so, and where it belongs.",
    "notes": "Open questions, decisions and their reasons.",
}
_OPTIONS, _LONGEST = 400, 160
"""Maximum number of sentences that a field offers, and of characters of each."""


def title_html(cluster: Cluster, tones: Tones, sentences: int) -> str:
    """Return the heading of a code: its colour and shape, its name, and its number of units."""
    mark = f"<span style='color:{tones.colour(cluster.colour)}' aria-hidden='true'>{tones.mark(cluster.colour)}</span>"
    size = f"<span class='size'>{count(sentences, 'unit')}</span>"
    return f"<h3 class='code-title'>{mark} {escape(cluster.name)} {size}</h3>"


def entry_html(code: Code, partition: Partition, texts: Mapping[int, str]) -> str:
    """Return the fields of a code; empty ones are left out. An example that is elsewhere now says where."""
    rows = {name: escape(text) for name in TEXTS if (text := getattr(code.entry, name))}
    for name in SENTENCES:
        own = code.cluster.number if name == "examples" else None
        items = []
        for id in getattr(code.entry, name):
            number = int(partition.numbers[partition.rows([id])[0]])
            place = "without a code" if number == UNASSIGNED else f"in {escape(partition.clusters[number].name)}"
            elsewhere = "" if own in (None, number) else f" <em>(now {place})</em>"
            items.append(f"<li>{escape(texts.get(id, ''))}{elsewhere}</li>")
        rows |= {name: f"<ul>{''.join(items)}</ul>"} if items else {}
    if not rows:
        return "<p class='code-empty'>No definition yet.</p>"
    titles = {**TEXTS, **SENTENCES}
    return _fields_html([(titles[name], body, name) for name in _ORDER if (body := rows.get(name))])


def _fields_html(rows: Iterable[tuple[str, str, str]]) -> str:
    parts = [f"<div class='{kind}'><dt>{title}</dt><dd>{body}</dd></div>" for title, body, kind in rows]
    return f"<dl class='code-entry'>{''.join(parts)}</dl>"


def editor(
    key: str,
    code: Code,
    partition: Partition,
    texts: Callable[[Iterable[int]], Mapping[int, str]],
    save: Callable[[str, CodebookEntry], bool],
) -> bool:
    """Draw the form of a code, its name and its entry; return whether ``save`` has just saved it.

    If the stored code has changed since the form was opened, nothing is saved: both are shown, and the button then
    replaces the stored one. What ``save`` refuses stays in the form.
    """
    held = f"{key}_{code.cluster.number}"
    base, draft = st.session_state.setdefault(held, (code, code))
    if draft != base:
        st.warning("This code was not saved. The stored one:", icon=":material/merge:")
        st.html(entry_html(code, partition, texts(code.entry.examples + code.entry.counter_examples)))
        st.caption("Yours, which replaces it when you save:")
    edited = _form(key, draft, partition, texts)
    if edited is None:
        return False
    if code == base and save(edited.cluster.name, edited.entry):
        close_editor(key, code.cluster.number)
        return True
    st.session_state[held] = (code, edited)
    st.rerun()


def close_editor(key: str, number: int) -> None:
    """Forget what was typed into the form of a cluster; for callbacks."""
    st.session_state.pop(f"{key}_{number}", None)


def _form(
    key: str, code: Code, partition: Partition, texts: Callable[[Iterable[int]], Mapping[int, str]]
) -> Code | None:
    number, entry = code.cluster.number, code.entry
    # The fields begin anew when the stored code has changed.
    key = f"{key}_{number}_{hash((code.cluster.name, entry))}"
    own = has_code(partition, number)
    offered = {
        "examples": list(dict.fromkeys([*entry.examples, *partition.ids[own][:_OPTIONS].tolist()])),
        "counter_examples": list(dict.fromkeys([*entry.counter_examples, *partition.ids[~own][:_OPTIONS].tolist()])),
    }
    if number not in partition.clusters:  # a new code has no units yet
        offered = {name: list[int]() for name in offered}
    shown = texts([id for ids in offered.values() for id in ids])
    with st.form(key, border=False, clear_on_submit=number not in partition.clusters):  # one code after the other
        name = st.text_input("Name", code.cluster.name, key=f"{key}_cluster", max_chars=NAME_LIMIT)
        places = {"definition": st.container(), **dict(zip(("include", "exclude"), st.columns(2), strict=True))}
        typed = {
            name: places.get(name, st).text_area(
                title,
                value=getattr(entry, name),
                key=f"{key}_{name}",
                max_chars=TEXT_LIMIT,
                height=75,
                placeholder=_HELP[name],
            )
            or ""
            for name, title in TEXTS.items()
        }
        chosen = {
            name: place.multiselect(
                SENTENCES[name],
                ids,
                default=getattr(entry, name),
                format_func=lambda id: shorten(shown.get(id, ""), _LONGEST),
                key=f"{key}_{name}",
                max_selections=EXAMPLE_LIMIT,
                placeholder="Choose units",
            )
            for (name, ids), place in zip(offered.items(), st.columns(2), strict=True)
            if ids
        }
        if not st.form_submit_button("Save code", type="primary", icon=":material/save:"):
            return None
    given: dict[str, Any] = {**typed, **{field: tuple(ids) for field, ids in chosen.items()}}
    edited = CodebookEntry(**given)
    return Code(replace(code.cluster, name=(name or "").strip()), edited)


def difference_html(found: Difference, texts: Mapping[int, str]) -> str:
    """Return what differs in one code: removed words are struck through, added ones underlined."""
    rows = [
        (title, "".join(_piece_html(piece) for piece in pieces), "definition") for title, pieces in found.texts.items()
    ]
    for title in SENTENCES.values():
        items = [f"<li><del>{escape(texts.get(id, ''))}</del></li>" for id in found.gone.get(title, ())]
        items += [f"<li><ins>{escape(texts.get(id, ''))}</ins></li>" for id in found.added.get(title, ())]
        rows += [(title, f"<ul>{''.join(items)}</ul>", "definition")] if items else []
    code = found.new or found.old
    assert code is not None
    headline = {"added": "New: ", "removed": "Removed: "}.get(found.kind, "") + code.cluster.name
    if found.kind == "renamed" and found.old is not None:
        headline = f"{found.old.cluster.name} is now {code.cluster.name}"
    return f"<p class='code-kind'>{escape(headline)}</p>{_fields_html(rows) if rows else ''}"


def _piece_html(piece: Piece) -> str:
    """Return a piece; spaces before its words are not marked."""
    if not piece.state:
        return escape(piece.text)
    tag, words = {"old": "del", "new": "ins"}[piece.state], piece.text.lstrip()
    return f"{escape(piece.text[: len(piece.text) - len(words)])}<{tag}>{escape(words)}</{tag}>"


# What is sent to a language model, shown before it is sent, with an agreement for each use

TITLE = "Names by a language model"
_SHOWN = 20_000
"""Characters of the requests on the page; the rest is in the file."""


def endpoint() -> Endpoint | None:
    """Return the endpoint of the settings; None, with a line that says why, if there is none or a right is missing."""
    if not may(Right.MANAGE):
        st.caption("Sending texts to a language model requires the admin role.")
        return None
    try:
        return Endpoint.of(queries.store().settings)
    except ConfigError:
        st.caption(plain(UNSET))
        return None


def consent(target: Mapping[str, Any], materials: Sequence[ThemeMaterial], model: Endpoint, key: str) -> None:
    """Draw address, model and every text of the requests, and queue the job once a person agrees to send them.

    ``target`` are the arguments of the job that say what is named. The agreement is for one use: it is given anew
    after every job, and when themes, address or model change.
    """
    sentences, characters = amount(materials)
    digest = agreed_digest(materials)
    st.markdown(
        f"{count(len(materials), 'request')} with {count(sentences, 'sentence')}, {characters:,} characters in all, "
        f"will be sent to `{code(model.url)}`, model `{code(model.model)}`. If two themes get the same name, one "
        "request is repeated with the names that are taken."
    )
    requests = []
    for number, material in enumerate(materials, 1):
        messages = [f"[{message['role']}]\n{message['content']}" for message in material.messages()]
        requests.append("\n\n".join([f"Request {number} of {len(materials)}", *messages]))
    args = {**target, "texts": digest}
    agreement("name-themes", args, "\n\n\n".join(requests), model, key, "Send and name themes")


def agreement(kind: str, args: Mapping[str, Any], texts: str, model: Endpoint, key: str, label: str) -> None:
    """Draw every text of the requests, and queue a job once a person agrees to send them.

    ``args`` are the arguments of the job, with the digest of what is sent as ``texts``.
    """
    with st.expander("Texts that will be sent", icon=":material/visibility:"):
        st.code(texts[:_SHOWN], language=None, wrap_lines=True, height=320)
        if len(texts) > _SHOWN:
            st.caption(f"Showing {_SHOWN:,} of {len(texts):,} characters.")
            st.download_button("All texts", texts, "requests.txt", "text/plain", icon=":material/download:")
    turn = st.session_state.setdefault(f"{key}_turn", 0)
    agreed = st.checkbox(
        f"Send these texts to {plain(model.url.split('/')[2])}",
        key=f"{key}_agreed_{turn}_{args['texts']}_{hash(model.url)}",
    )
    if st.button(label, key=f"{key}_send", icon=":material/send:", type="primary", disabled=not agreed) and submit(
        kind, {**args, "endpoint": model.url, "model": model.model, "send": agreed}
    ):
        st.session_state[f"{key}_turn"] = turn + 1
        st.rerun()


def code(text: str) -> str:
    """Return a text for Markdown between backticks."""
    return text.replace("`", "'")


# Labelling tasks for pages: those of a project and of a person, and opening items on the page Code

PLANNED = "tasks_planned_sample"
"""Key of the session with a sample that the form of a new task begins with."""


@dataclass(frozen=True, slots=True)
class PlannedSample:
    """A sample that the page Estimates has planned."""

    corpus_id: int
    column: str
    """Column whose values are the strata; "" for none."""
    numbers: Mapping[str, int]
    """Value → number of units to label, more than 0."""
    outside: bool = False
    """Whether it is of the units that earlier samples could not have drawn."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task with its people and items."""

    record: TaskRecord
    members: tuple[MemberRecord, ...]
    items: tuple[ItemRecord, ...]

    @property
    def people(self) -> list[str]:
        """Names of the members, by name."""
        return [member.person for member in self.members]

    def of(self, person: str) -> list[ItemRecord]:
        """Return the items of a person in their order."""
        return [item for item in self.items if item.person == person]


def tasks(corpus_id: int) -> list[Task]:
    """Return the tasks of a project, open ones first, the newest first."""
    with queries.store().reading() as r:
        found = [
            Task(record, tuple(r.tasks.members(record.id)), tuple(work.items_of(r, record.id)))
            for record in r.tasks.list(corpus_id)
        ]
    return sorted(found, key=lambda task: task.record.closed is not None)


def open_task(task_id: int) -> None:
    """Open the coding of the person in a task, which is made when the person begins; an error stays on this page."""
    made = attempt(lambda: work.begin_labelling(queries.store(), task_id, current_person()))
    if made is not None:
        name = queries.read(lambda r: r.labellings.get(made).name)
        switch_page("code", compare_queries.unit_view(name))


def of_labelling(record: LabellingRecord) -> Task | None:
    """Return the task of a labelling that was made for the person who uses the page; None for other labellings."""
    with queries.store().reading() as r:
        found = r.tasks.of_labelling(record.id)
        if found is None or found[1] != current_person():
            return None
        task, _ = found
        return Task(task, tuple(r.tasks.members(task.id)), tuple(work.items_of(r, task.id)))


def is_open(record: LabellingRecord) -> bool:
    """Whether a labelling may change: that of a task is finished with the last item of its person."""
    with queries.store().reading() as r:
        found = r.tasks.of_labelling(record.id)
        return found is None or any(item.done is None for item in work.items_of(r, found[0].id, found[1]))


def counted(items: list[ItemRecord]) -> str:
    """Return ``3 of 10 units``: those that have a code, or a reason why they have none."""
    done, every = (sum(item.sentences for item in found) for found in ([i for i in items if i.done], items))
    return f"{done:,} of {count(every, 'unit')}"


_NAME_CHARS = 120


def correct_button(
    label: str,
    analysis: Analysis,
    article_id: int | None = None,
    key: str = "correct",
    kind: Literal["primary", "tertiary"] = "tertiary",
) -> None:
    """Draw the button that calls :func:`correct`, where :func:`can_correct` allows it."""
    if not can_correct(analysis, article_id):
        return
    if st.button(label, key=f"{key}-{analysis.run.id}", icon=":material/edit:", type=kind):
        attempt(lambda: correct(analysis, article_id))


def can_correct(analysis: Analysis, article_id: int | None = None) -> bool:
    """Return whether this person may label, and the corpus, or the article, fits into one labelling."""
    return may(Right.LABEL) and (article_id is not None or analysis.corpus.sentences <= starts.MOST_SENTENCES)


def correct(analysis: Analysis, article_id: int | None = None) -> NoReturn:
    """Open this person's labelling that started from the analysis, or create it; ends the run."""
    name, person = (analysis.article or analysis.corpus.name)[:_NAME_CHARS], current_person()
    mine = [one for one in compare_queries.labellings(analysis.corpus.id) if one.owner == person]
    record = next((one for one in mine if one.origin.get("run_id") == analysis.run.id), None)
    if record is None:
        new = NewLabelling(analysis.corpus.id, name, person, Sharing.OWN, False, article_id)
        record = starts.begin(queries.store(), new, starts.from_themes(analysis.run.id))
    switch_page("code", {"corpus": analysis.corpus.name, **compare_queries.edit_view(record.name)})


# Collecting failures of models and disagreements from any page

ICON = ":material/bug_report:"


def permalink(view: Mapping[str, str] | None = None) -> str:
    """Return page and query of the view that is open, without the project; ``view`` replaces values of URL keys."""
    query = {name: values for name, values in shown_view().items() if name != CORPUS}
    query |= {name: [value] for name, value in (view or {}).items()}
    return f"{current_page()}?{urlencode(query, doseq=True)}"


def button(key: str, label: str, project_id: int, batch: str, found: Callable[[], Sequence[CollectedFailure]]) -> None:
    """Draw a button that collects failures."""
    st.button(
        label,
        icon=ICON,
        key=f"collect-{key}",
        help="Keeps it with its context, to be coded on the page Errors.",
        on_click=lambda: collect(project_id, batch, found),
    )


def collect(project_id: int, batch: str, found: Callable[[], Sequence[CollectedFailure]]) -> None:
    """Collect failures and say so; for callbacks."""

    def change() -> None:
        made = failures.collect(queries.store(), project_id, batch, found(), current_person())
        there = len(made.sentences) - made.new
        said = f"{count(made.new, 'failure')} collected" + (f", {there:,} there already" if there else "")
        st.toast(f"{said}. [Open Errors](/errors)", icon=ICON, duration="long")

    succeeds(change)
