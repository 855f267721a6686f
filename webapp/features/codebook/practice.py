"""Practice tab of the Codebook page: training items with immediate feedback, and how people did.

An attempt asks all items in random order. It is stored under the name of the person when the last one is answered.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import streamlit as st

from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import Code, codes, entry_of, without_examples
from themescope.core.labelling.task_items import EXPLANATION_LIMIT, TrainingItem, share_right, training_items
from themescope.db.access import Right
from themescope.jobs.services.labelling import codebook
from themescope.webapp.features.codebook.entries import CodebookState, messages
from themescope.webapp.features.codebook.state import ATTEMPT
from themescope.webapp.shared import people, queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import attempt, draw_table
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.labelling.codebook_view import entry_html, title_html
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import ago, count, plain, shorten

_LONGEST, _MOST_BUTTONS = 300, 30


@dataclass
class Attempt:
    """An attempt that is going on: the items in the order in which they are asked, and the answers so far."""

    labelling: int
    items: tuple[TrainingItem, ...]
    answers: list[int] = field(default_factory=list)
    """Number of the chosen cluster of each item asked so far."""
    checked: bool = False
    """Whether the answer to the last item is shown with its explanation."""

    @property
    def results(self) -> list[tuple[int, int, int]]:
        """(sentence, chosen cluster, right cluster) of each item asked so far."""
        return [(item.sentence, chosen, item.cluster) for item, chosen in zip(self.items, self.answers, strict=False)]

    @property
    def done(self) -> bool:
        """Whether every item was answered, and its explanation read."""
        return len(self.answers) == len(self.items) and not self.checked


def show(state: CodebookState) -> None:
    """Draw the tab."""
    messages(state)
    items = training_items(state.partition)
    going = st.session_state.get(ATTEMPT)
    if isinstance(going, Attempt) and going.labelling == state.record.id:
        _result(state, going) if going.done else _question(state, going)
        return
    if not items:
        nothing(
            "No training items yet.",
            "Training items are sentences with their right cluster. People who may change the labelling choose them in "
            "Relabel (button Training item), or from the examples of the codebook below.",
        )
    else:
        _start(state, items)
    if not state.read_only:
        st.subheader("Training items", anchor=False)
        known = {item.sentence for item in items}
        partition = state.partition
        new = [
            id
            for number in sorted(partition.clusters)
            for id in entry_of(partition, number).examples
            if id not in known and int(partition.numbers[partition.rows([id])[0]]) == number
        ]
        label = f"Use {count(len(new), 'example')} of the codebook"
        if new and st.button(label, icon=":material/add:", help="Examples become training items of their clusters."):
            state.apply(lambda p: book.choose_training(p, [uuid4().hex for _ in new], new))
            st.rerun()
        texts = state.texts([item.sentence for item in items])
        names = {number: cluster.name for number, cluster in state.partition.clusters.items()}
        for item in items:
            with st.expander(f"{plain(names[item.cluster])}: {plain(shorten(texts.get(item.sentence, ''), 90))}"):
                st.text(texts.get(item.sentence, ""))
                _explanation(state, item)
        _people(state)


def _start(state: CodebookState, items: Sequence[TrainingItem]) -> None:
    st.markdown(
        f"{count(len(items), 'sentence')} of {plain(state.record.name)} with their right clusters. Read the codebook "
        "in the tab Codes first. You see after each answer whether it was right, and why."
    )
    own = queries.read(lambda r: codebook.progress(r, state.record.id, current_person()))
    if own:
        last = own[0].last
        st.caption(
            f"Your last attempt, {ago(own[0].attempts[-1].created)}: {last.value:.0%} right (95 % interval "
            f"{last.low:.0%} to {last.high:.0%}), {count(len(own[0].attempts), 'attempt')} so far."
        )
    if not may(Right.LABEL):
        st.caption("You may view only, so your results are not kept.")
    st.button(
        "Start practice", type="primary", icon=":material/school:", on_click=_begin, args=(state.record.id, items)
    )


def _begin(labelling: int, items: Sequence[TrainingItem]) -> None:
    order = random.sample(list(items), len(items))
    st.session_state[ATTEMPT] = Attempt(labelling, tuple(order))


def _question(state: CodebookState, going: Attempt) -> None:
    at = len(going.answers) - going.checked
    item, listed = going.items[at], codes(state.partition)
    names = {code.cluster.number: code.cluster.name for code in listed}
    left, right = st.columns([3, 2])
    with left:
        st.progress(at / len(going.items), text=f"Sentence {at + 1} of {len(going.items)}")
        st.subheader(plain(state.texts([item.sentence]).get(item.sentence, "")), anchor=False)
        if going.checked:
            _feedback(item, going.answers[-1], names)
            if st.button("Next", type="primary", icon=":material/arrow_forward:", key=f"codebook_answer_{at}_next"):
                # Go on to the next item; after the last one, store the attempt.
                going.checked = False
                if going.done and may(Right.LABEL):
                    attempt(
                        lambda: codebook.record_attempt(
                            queries.store(), going.labelling, current_person(), going.results
                        )
                    )
                st.rerun()
        else:
            _choice(going, at, names)
        st.button("End practice", icon=":material/close:", type="tertiary", on_click=_leave)
    with right, st.container(border=True):
        # After the answer the two entries between which it was are enough.
        wanted = {item.cluster, going.answers[-1]} if going.checked else set(names)
        asked = {item.sentence for item in going.items}
        _codebook(state, [code for code in listed if code.cluster.number in wanted], asked)


def _choice(going: Attempt, at: int, names: dict[int, str]) -> None:
    """Draw the clusters to choose from; many are a list that can be searched."""
    with st.form(f"codebook_answer_{at}", border=False):
        label, key = "Which cluster is it?", f"codebook_answer_{at}_choice"
        if len(names) > _MOST_BUTTONS:
            chosen = st.selectbox(label, list(names), format_func=names.__getitem__, index=None, key=key)
        else:
            chosen = st.radio(
                label, list(names), format_func=lambda n: plain(names[n]), index=None, key=key, horizontal=True
            )
        pressed = st.form_submit_button("Check", type="primary", icon=":material/check:")
    if pressed and chosen is None:
        st.warning("Choose a cluster first.")
    elif pressed and chosen is not None:
        going.answers.append(chosen)
        going.checked = True
        st.rerun()


def _codebook(state: CodebookState, listed: Sequence[Code], asked: set[int]) -> None:
    """Draw the entries of codes. Examples that are asked must not give the answer away."""
    shades, sizes = tones(st.context.theme.type), state.partition.sizes()
    hidden = [Code(code.cluster, without_examples(code.entry, asked)) for code in listed if code.entry]
    texts = state.texts({id for code in hidden for id in code.entry.examples + code.entry.counter_examples})
    for code in hidden:
        st.html(title_html(code.cluster, shades, sizes[code.cluster.number]))
        st.html(entry_html(code, state.partition, texts))
    if not hidden:
        st.caption("The codebook has no entries of these clusters yet.")


def _feedback(item: TrainingItem, chosen: int, names: dict[int, str]) -> None:
    right, given = (plain(names.get(number, "a deleted cluster")) for number in (item.cluster, chosen))
    if chosen == item.cluster:
        st.success(f"Right: **{right}**", icon=":material/check:")
    else:
        st.error(f"You chose {given}. It is **{right}**.", icon=":material/close:")
    if item.explanation:
        st.markdown(plain(item.explanation))


def _result(state: CodebookState, going: Attempt) -> None:
    score = share_right([chosen == right for _, chosen, right in going.results])
    assert score is not None
    st.subheader(f"{score.value:.0%} right", anchor=False)
    st.markdown(
        f"{sum(c == r for _, c, r in going.results)} of {count(score.n, 'sentence')}; "
        f"95 % interval {score.low:.0%} to {score.high:.0%} (Wilson)."
    )
    texts = state.texts([item.sentence for item in going.items])
    names = {number: cluster.name for number, cluster in state.partition.clusters.items()}
    for (id, chosen, right), item in zip(going.results, going.items, strict=True):
        if chosen != right:
            with st.container(border=True):
                st.text(shorten(texts.get(id, ""), _LONGEST))
                _feedback(item, chosen, names)
    st.button("Practise again", icon=":material/replay:", on_click=_begin, args=(going.labelling, going.items))
    st.button("Back", icon=":material/arrow_back:", type="tertiary", on_click=_leave)


def _leave() -> None:
    st.session_state.pop(ATTEMPT, None)


def _explanation(state: CodebookState, item: TrainingItem) -> None:
    with st.form(f"codebook_item_{item.key}_{hash(item.explanation)}", border=False):
        text = st.text_area("Explanation", value=item.explanation, max_chars=EXPLANATION_LIMIT, height=80)
        saved = st.form_submit_button("Save explanation", icon=":material/save:")
    removed = st.button(
        "Remove item", key=f"codebook_item_{item.key}_remove", icon=":material/delete:", type="tertiary"
    )
    if saved:
        state.apply(lambda p: book.explain_training(p, item, text or ""))
    if removed:
        state.apply(lambda p: book.drop_training(p, item))
    if saved or removed:
        st.rerun()


def _people(state: CodebookState) -> None:
    found = queries.read(lambda r: codebook.progress(r, state.record.id))
    if not found:
        return
    st.subheader("Results", anchor=False)
    draw_table(
        {
            "Who": [one.person or people.UNNAMED for one in found],
            "Attempts": [len(one.attempts) for one in found],
            "Last": [f"{one.last.value:.0%} [{one.last.low:.0%}, {one.last.high:.0%}]" for one in found],
            "Best": [f"{one.best.value:.0%}" for one in found],
            "When": [ago(one.attempts[-1].created) for one in found],
        },
        height="content",
    )
    st.caption("Share of right answers of the last attempt with its 95 % interval (Wilson), and of the best one.")
