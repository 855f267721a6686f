"""Card of the selected sentence: context, the model's suggestion, other labellings and history."""

from __future__ import annotations

from collections import Counter

import numpy as np
import streamlit as st

from core.labelling.partition import UNASSIGNED
from jobs.services.labelling.assistance import nearest_sentences
from jobs.services.labelling.session import place_of
from webapp.features.relabel import queries
from webapp.features.relabel.editing import RelabelState
from webapp.features.relabel.state import SENTENCE_CARD, step_summary
from webapp.shared import people
from webapp.shared.text import ago, count, plain, shorten

_TOP_K = 5
_MAX_CONTEXT, _MAX_TEXT, _MAX_NAME = 180, 5_400, 40
_MAX_LABELLINGS = 4
_CLEAR_MARGIN = 0.1


def show(state: RelabelState) -> None:
    """Draw the card of the one selected sentence."""
    sentence = int(state.selected[0])
    texts = state.texts
    place = texts.row[sentence]
    with st.container(border=True, gap="xxsmall", key=SENTENCE_CARD):
        _neighbour(texts, place, -1)
        st.markdown(f"**{plain(shorten(texts.sentences[place].text, _MAX_TEXT))}**")
        _neighbour(texts, place, 1)
        st.caption(_status(state, place))
        if not state.record.blind:
            _suggestion(state, sentence)
            _other_labellings(state, sentence)
        note = state.partition.notes.get(sentence)
        if note:
            st.markdown(":material/sticky_note_2: " + plain(note))
        _history(state, sentence)


def _neighbour(texts: queries.Texts, place: int, offset: int) -> None:
    """Draw the sentence before or after, if it is of the same article."""
    other = place + offset
    if 0 <= other < len(texts.sentences) and texts.sentences[other].article_id == texts.sentences[place].article_id:
        st.caption(plain(shorten(texts.sentences[other].text, _MAX_CONTEXT)))


def _status(state: RelabelState, place: int) -> str:
    texts, p = state.texts, state.partition
    row = int(p.rows([int(texts.ids[place])])[0])
    number = int(p.numbers[row])
    parts = ["unassigned" if number == UNASSIGNED else f"in {p.clusters[number].name}"]
    if p.uncertain[row]:
        parts.append("marked as uncertain")
    if not state.record.blind:
        parts.append(f"section: {texts.sections[place]}")
    if texts.several_articles:
        parts.append(texts.articles[place])
    return " · ".join(plain(part) for part in parts)


def _suggestion(state: RelabelState, sentence: int) -> None:
    """Draw the model's suggestion and the clusters of the nearest sentences."""
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
    nearest = Counter(int(p.numbers[i]) for i in nearest_sentences(x, row, _TOP_K))
    names = [
        f"{n} in {plain(shorten(p.clusters[c].name, _MAX_NAME)) if c != UNASSIGNED else 'no cluster'}"
        for c, n in nearest.most_common()
    ]
    if names:
        st.caption(f"Its {count(nearest.total(), 'nearest neighbour')}: {', '.join(names)}.")


def _other_labellings(state: RelabelState, sentence: int) -> None:
    """Draw the cluster of the sentence in other labellings of the same text."""
    names = [
        f"{plain(shorten(other.name, _MAX_NAME))}: {plain(shorten(place_of(partition, sentence), _MAX_NAME))}"
        for other, partition in queries.other_labellings(state.record)
        if np.isin(sentence, partition.ids)
    ]
    if names:
        st.caption(f":material/group: Other labellings: {' · '.join(names[:_MAX_LABELLINGS])}")


def _history(state: RelabelState, sentence: int) -> None:
    steps = queries.steps_of_sentence(state.record.id, sentence)
    if steps:
        last = steps[-1]
        st.caption(
            f":material/history: {count(len(steps), 'change')}, the last by {people.shown(last.person)} "
            f"{ago(last.when)}: {plain(step_summary(last))}"
        )
