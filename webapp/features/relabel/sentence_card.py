"""One sentence in full: what stands around it, where the model and its neighbours would put it, what was done to it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import streamlit as st

from core.labelling.partition import UNASSIGNED
from core.labelling.suggestions import neighbours
from jobs.services.labelling.session import place_of
from webapp.features.relabel.state import Bench, told
from webapp.shared import label_queries, people
from webapp.shared.text import ago, plain, shorten

_NEIGHBOURS = 5
_LETTERS = 180
_OTHERS = 4


def show(bench: Bench) -> None:
    """The card of the selected sentence."""
    sentence = int(bench.selected[0])
    texts = bench.texts
    row = texts.row[sentence]
    with st.container(border=True, gap="xxsmall", key="label-focus"):
        _around(texts, row, -1)
        st.markdown(f"**{plain(shorten(texts.sentences[row].text, 30 * _LETTERS))}**")
        _around(texts, row, 1)
        st.caption(_place(bench, row))
        if not bench.record.blind:
            _suggestion(bench, sentence)
            _others(bench, sentence)
        note = bench.partition.notes.get(sentence)
        if note:
            st.markdown(":material/sticky_note_2: " + plain(note))
        _history(bench, sentence)


def _around(texts: label_queries.Texts, row: int, step: int) -> None:
    other = row + step
    if 0 <= other < len(texts.sentences) and texts.sentences[other].article_id == texts.sentences[row].article_id:
        st.caption(plain(shorten(texts.sentences[other].text, _LETTERS)))


def _place(bench: Bench, row: int) -> str:
    texts, p = bench.texts, bench.partition
    place = int(p.rows([int(texts.ids[row])])[0])
    number = int(p.numbers[place])
    parts = ["unassigned" if number == UNASSIGNED else f"in {p.clusters[number].name}"]
    if p.uncertain[place]:
        parts.append("marked uncertain")
    if not bench.record.blind:
        parts.append(f"section: {texts.sections[row]}")
    if texts.several:
        parts.append(texts.articles[row])
    return " · ".join(plain(part) for part in parts)


def _suggestion(bench: Bench, sentence: int) -> None:
    """The model's opinion and the labels of the nearest sentences; the key A accepts."""
    found, x, p = bench.suggestions, bench.vectors, bench.partition
    if found is None or x is None:
        return
    row = int(p.rows([sentence])[0])
    best = int(found.best[row])
    if best not in p.clusters:
        return
    name, margin = plain(p.clusters[best].name), found.margin[row]
    clear = "clearly" if margin > 0.1 else "hardly more than the next"
    verdict = f"agrees with **{name}**" if best == p.numbers[row] else f"would say **{name}** (key `A` accepts)"
    st.caption(f":material/smart_toy: The model {verdict}, {clear} (margin {margin:.2f}).")
    near = Counter(int(p.numbers[i]) for i in neighbours(x, row, _NEIGHBOURS))
    names = [
        f"{n} in {plain(shorten(p.clusters[c].name, 40)) if c != UNASSIGNED else 'no cluster'}"
        for c, n in near.most_common()
    ]
    if names:
        st.caption(f"Of its {near.total()} nearest sentences {', '.join(names)}.")


def _others(bench: Bench, sentence: int) -> None:
    """Where other labellings of the same text have it."""
    said = [
        f"{plain(shorten(other.name, 40))}: {plain(shorten(place_of(state, sentence), 40))}"
        for other, state in label_queries.others(bench.record)
        if np.isin(sentence, state.ids)
    ]
    if said:
        st.caption(f":material/group: Other labellings · {' · '.join(said[:_OTHERS])}")


def _history(bench: Bench, sentence: int) -> None:
    steps = label_queries.steps_of(bench.record.id, sentence)
    if steps:
        last = steps[-1]
        st.caption(
            f":material/history: {len(steps)} change{'s' if len(steps) > 1 else ''}, the last by "
            f"{people.shown(last.person)} {ago(last.when)}: {plain(told(last))}"
        )
