"""Clusters and their units on the page Code: toolbar, filters, and three layouts of the same selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.suggestions import neighbours
from themescope.core.records.stored import Sharing
from themescope.core.types import Ids
from themescope.db.access import Right
from themescope.db.label_records import NewLabelling
from themescope.jobs.common.models import corpus_shares
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import place_of
from themescope.webapp.features.coding import (
    FILTER,
    LAYOUT,
    MATCH,
    QUESTIONS,
    SEARCH,
    UNCERTAIN,
    dialogs,
    new_sentences,
    queries,
    sentences,
    step_summary,
    toolbar,
)
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import people
from themescope.webapp.shared import queries as records
from themescope.webapp.shared.choose import model_notes, nothing
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.navigation import switch_page
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.text import ago, count, plain, shorten

# --- workspace --------------------------------------------------------------------------------------------------------


COLUMNS, MAP, CLUSTERS = "Columns", "Map", "Clusters"
LAYOUTS: dict[str, Callable[[RelabelState, Ids], None]] = {
    COLUMNS: sentences.show_columns,
    MAP: sentences.show_map,
    CLUSTERS: toolbar.show_clusters,
}
NO_MODEL = "no suggestions"
_MAX_CONFLICTS, _MAX_CONFLICT_TEXT = 5, 220
_NO_LABEL: Any = {"label_visibility": "collapsed"}
"""One row holds all controls; assistive technology still reads the labels."""
_TOP_K = 5
_MAX_CONTEXT, _MAX_TEXT, _MAX_NAME = 180, 5_400, 40
_MAX_LABELLINGS = 4
_CLEAR_MARGIN = 0.1


def show(state: RelabelState) -> None:
    """Draw the sentences, the toolbar and the task."""
    state.views = ()
    new_sentences.offer(state)
    if state.read_only:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            viewer = not people.may(Right.LABEL)
            why = "You may view, but not change labellings." if viewer else "You can read it, but not change it."
            owner = f"This labelling belongs to **{people.shown(state.record.owner)}**. " if not viewer else ""
            st.markdown(f":material/lock: {owner}{why}", width="stretch")
            if not viewer and st.button(
                "Make my own copy", type="primary", icon=":material/content_copy:", key="code_make_copy"
            ):
                record, person = state.record, people.current_person()
                name, article = f"{record.name} ({person or people.UNNAMED})", record.article_id
                new = NewLabelling(record.corpus_id, name, person, Sharing.OWN, record.blind, article)
                made = attempt(lambda: starts.begin(records.store(), new, starts.from_labelling(record.id)))
                if made is not None:
                    switch_page("code", compare_queries.edit_view(made.name))
    layout, view = _controls(state)
    # A container of its own, so that messages do not move the widgets below to other places in the page.
    with st.container(gap=None):
        messages(state)
    if view is None:
        dialogs.show_questions(state)
        dialogs.show_open(state)
        return
    left, right = st.columns([7, 3])
    with left:
        with st.container():
            _sentences(state, LAYOUTS[layout], view)
        # Below what is clicked: a card above would push the next sentence away from under the mouse.
        if len(state.selected) == 1:
            show_sentence_card(state)
    with right:
        toolbar.show_codebook(state)
        toolbar.show(state)
    dialogs.show_open(state)


def _controls(state: RelabelState) -> tuple[str, tuple[str, str, str] | None]:
    """Return the layout, and (filter, search, match); None in place of these for questions, which need none."""
    state.clusters.view = ""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        layout: str = st.segmented_control(
            "Layout", list(LAYOUTS), key=LAYOUT, bind="query-params", default=COLUMNS, required=True, **_NO_LABEL
        )
        if layout == CLUSTERS and toolbar.choose(state) == QUESTIONS:
            _choose_model(state)
            return layout, None
    if layout == CLUSTERS:  # all controls are too wide for one row
        row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        name = st.selectbox("Filter", sentences.filters(state), key=FILTER, bind="query-params", width=205, **_NO_LABEL)
        search = st.text_input(
            "Search", key=SEARCH, bind="query-params", icon=":material/search:", placeholder="Search", width=205,
            **_NO_LABEL,
        )  # fmt: skip
        with st.popover("Options", icon=":material/tune:"):
            match = st.selectbox(
                "Match",
                sentences.MATCHES,
                key=MATCH,
                bind="query-params",
                help="Sentences that contain the text, or the sentences most similar in meaning by the chosen model.",
            )
            _choose_model(state)
    model = records.model_by_id(state.model_id)
    if model is not None:
        corpus = records.read(lambda r: r.corpora.get(state.record.corpus_id))
        model_notes(model, corpus_shares(corpus), articles=corpus.articles > 1)
    if layout == CLUSTERS:
        toolbar.find_merge(state)
    return layout, (name or sentences.ALL, search or "", match or sentences.SUBSTRING)


def _choose_model(state: RelabelState) -> None:
    """Set the model that makes suggestions, by default the learned metric of this labelling, or the best one."""
    state.model_id = None
    models = {} if state.record.blind else queries.suggesting_models(state.record, state.partition)
    if not models:
        return
    chosen = st.selectbox(
        "Suggestions from",
        [*models, NO_MODEL],
        key=f"code_model_{state.record.id}",
        help="The model suggests a cluster for every sentence. Nothing changes until you accept a suggestion.",
    )
    state.model_id = models[chosen].id if chosen in models else None


def _sentences(state: RelabelState, draw: Callable[[RelabelState, Ids], None], view: tuple[str, str, str]) -> None:
    if state.similar_to is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Most similar to “{plain(shorten(state.session.texts.get(state.similar_to, ''), 90))}”")
            st.button("Show all", icon=":material/close:", on_click=state.show_similar, args=(None,))
    try:
        ids = sentences.in_view(state, *view)
    except ThemescopeError as error:
        st.info(plain(error), icon=":material/info:")
        return
    if not len(ids):
        nothing("No matching sentences.", "Choose “All sentences” and clear the search to see all of them.")
        return
    if (
        state.record.kind is Sharing.GOLD
        and view[0] == UNCERTAIN
        and not len(state.selected)
        and state.queue is not None
    ):
        state.offer(ids[:1], state.queue.name)  # a key settles it
    draw(state, ids)
    with st.container(key="code_shown"):
        st.caption(f"Showing {len(ids):,} of {count(len(state.partition.ids), 'sentence')}.")


# ---------------------------------------------------------------- unsaved changes and conflicts


def messages(state: RelabelState) -> None:
    """Draw the change that conflicts with another one, or that the store refused."""
    found = state.conflict
    if found is not None:
        with st.container(border=True, key="code_conflict"):
            st.warning(f"**Edit conflict.** {plain(found.message)}", icon=":material/merge:")
            for conflict in found.sentences[:_MAX_CONFLICTS]:
                st.text(shorten(state.session.texts.get(conflict.sentence, ""), _MAX_CONFLICT_TEXT))
                who = people.shown(conflict.person) if conflict.when else "someone else"
                who = "you, in another tab," if conflict.when and conflict.person == state.session.person else who
                st.markdown(
                    f"It was **{plain(conflict.seen)}**; you chose **{plain(conflict.mine)}** · {who} chose "
                    f"**{plain(conflict.theirs)}** {ago(conflict.when) if conflict.when else ''}"
                )
            if len(found.sentences) > _MAX_CONFLICTS:
                st.caption(f"and {count(len(found.sentences) - _MAX_CONFLICTS, 'more sentence')}")
            with st.container(horizontal=True):
                st.button(
                    "Keep their change", type="primary", icon=":material/check:",
                    on_click=state.resolve_conflict, args=(False,),
                )  # fmt: skip
                st.button("Use my change", icon=":material/edit:", on_click=state.resolve_conflict, args=(True,))
            st.caption("Both changes stay in the history.")
    if state.unsaved is not None:
        with st.container(border=True):
            st.error(f"**Not saved.** {plain(state.unsaved.error)}", icon=":material/error:")
            with st.container(horizontal=True):
                st.button("Try again", icon=":material/refresh:", on_click=state.retry)
                st.button("Discard change", icon=":material/close:", on_click=state.discard)


def show_sentence_card(state: RelabelState) -> None:
    """Draw where the one selected sentence is, in one line that opens to the card with what is known about it."""
    sentence = int(state.selected[0])
    texts, p = state.texts, state.partition
    place, row = texts.row[sentence], int(p.rows([sentence])[0])
    number, note = int(p.numbers[row]), p.notes.get(sentence)
    parts = ["unassigned" if number == UNASSIGNED else f"in {p.clusters[number].name}"]
    if number != UNASSIGNED and not state.record.blind:
        (by,) = queries.made_by(p, state.record.id, state.record.members, state.session.snapshot.step, p.ids[[row]])
        parts[0] += f", by {by}"
    if p.uncertain[row]:
        parts.append("marked as uncertain")
    if texts.several_sections and not state.record.blind:
        parts.append(f"section: {texts.sections[place]}")
    if texts.several_articles:
        parts.append(texts.articles[place])
    line = " · ".join(plain(part) for part in (*parts, *([note] if note else [])))
    card = st.expander(f"Sentence {line}", key="code_sentence_card", on_change="rerun")
    if not card.open:
        return
    with card, st.container(gap="xxsmall"):
        [(before, after)] = queries.neighbours_in_text([texts.sentences[place]], state.record.corpus_id)
        if before:
            st.caption(plain(shorten(before, _MAX_CONTEXT)))
        st.markdown(f"**{plain(shorten(texts.sentences[place].text, _MAX_TEXT))}**")
        if after:
            st.caption(plain(shorten(after, _MAX_CONTEXT)))
        if not state.record.blind:
            _suggestion(state, sentence)
            names = [
                f"{plain(shorten(other.name, _MAX_NAME))}: {plain(shorten(place_of(partition, sentence), _MAX_NAME))}"
                for other, partition in queries.other_labellings(state.record)
                if np.isin(sentence, partition.ids)
            ]
            if names:
                st.caption(f":material/group: Other labellings: {' · '.join(names[:_MAX_LABELLINGS])}")
        if note:
            st.markdown(":material/sticky_note_2: " + plain(note))
        steps = records.read(lambda r: r.label_steps.of_sentence(state.record.id, sentence))
        if steps:
            last = steps[-1]
            st.caption(
                f":material/history: {count(len(steps), 'change')}, the last by {people.shown(last.person)} "
                f"{ago(last.when)}: {plain(step_summary(last))}"
            )


def _suggestion(state: RelabelState, sentence: int) -> None:
    found, x, p = state.suggestions, state.vectors, state.partition
    if found is None or x is None:
        return
    row = int(p.rows([sentence])[0])
    best = int(found.best[row])
    if best not in p.clusters:
        return
    name, margin = plain(p.clusters[best].name), found.margin[row]
    confidence = "high confidence" if margin > _CLEAR_MARGIN else "low confidence"
    verdict = f"agrees with **{name}**" if best == p.numbers[row] else f"suggests **{name}** (press `A` to accept)"
    st.caption(f":material/smart_toy: The model {verdict}, {confidence} (margin {margin:.2f}).")
    nearest = Counter(int(p.numbers[i]) for i in neighbours(x, row, _TOP_K))
    names = [
        f"{n} in {plain(shorten(p.clusters[c].name, _MAX_NAME)) if c != UNASSIGNED else 'no cluster'}"
        for c, n in nearest.most_common()
    ]
    if names:
        st.caption(f"Its {count(nearest.total(), 'nearest neighbour')}: {', '.join(names)}.")
