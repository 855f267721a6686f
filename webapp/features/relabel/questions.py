"""View Questions of the Relabel page: the program asks, and single keys answer."""

from __future__ import annotations

from typing import Any

import streamlit as st

from themescope.core.labelling import questions
from themescope.core.labelling.answers import NO, SKIP, YES, Effect, Question, QuestionKind, answers, constraints
from themescope.core.labelling.code_sets import allows_several
from themescope.core.labelling.partition import UNASSIGNED
from themescope.jobs.services.labelling.assistance import METHOD
from themescope.jobs.services.search import MOST_WITH_VECTORS
from themescope.webapp.features.relabel import Asking, queries, toolbar
from themescope.webapp.features.relabel.actions import dispatch
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.toolbar import ASSETS, SCRIPTS, WORDS, status_text
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.text import count, plain, shorten

_DEFAULT_BUDGET, _MOST_BUDGET = 50, 10_000
_MAX_TEXT, _MAX_EXAMPLE, _MAX_NAME, _MAX_CONTRADICTIONS = 1_500, 240, 80, 10
_TITLES = {
    QuestionKind.PAIR: "Do these two sentences belong together?",
    QuestionKind.CLUSTER: "Which of these clusters is it?",
}


def show(state: RelabelState) -> None:
    """Draw the question on the left, and settings, progress and results on the right."""
    left, right = st.columns([7, 3])
    with right:
        chosen = None if allows_several(state.partition) else _settings(state)
    with left:
        if chosen is not None:
            given = len(answers(state.partition))
            budget = int(st.session_state.get(f"relabel_budget_{state.record.id}", _DEFAULT_BUDGET))
            question = chosen.ask(state.partition) if given < budget else None
            if given >= budget:
                chosen.question = None
            key = f"relabel_questions_{state.record.id}"
            with st.container(border=True, key="relabel_questions"):
                draw_component(
                    "questions",
                    ASSETS,
                    *SCRIPTS,
                    data=question_data(state, question, given >= budget),
                    key=key,
                    on_actions_change=lambda: dispatch(state, (st.session_state.get(key) or {}).get("actions")),
                )
            state.notice = ""
        elif allows_several(state.partition):
            nothing("No questions here.", "Questions find one theme for each sentence; this labelling allows several.")
        elif len(state.partition.ids) > MOST_WITH_VECTORS:
            nothing(
                "Too many sentences for questions.", f"Questions work with at most {MOST_WITH_VECTORS:,} sentences."
            )
        else:
            nothing("Questions need vectors.", "Embed these articles with a model first.", "train", "Train a model")
    if chosen is not None:
        with right:
            _progress(state)
            _contradictions(state)
            toolbar.show_codebook(state)


def _settings(state: RelabelState) -> Asking | None:
    """Draw the budget; return what is asked, or None without vectors."""
    with st.container(border=True):
        st.caption(
            "To which cluster does the least certain sentence belong? When all are placed: which clusters are one?"
        )
        st.number_input(
            "Budget", 1, _MOST_BUDGET, _DEFAULT_BUDGET, step=10, key=f"relabel_budget_{state.record.id}",
            help="Number of answers, by all people, after which the questions end.",
        )  # fmt: skip
        # In blind work the best model asks, since a question shows no labels.
        models = queries.suggesting_models(state.record, state.partition)
        model = state.model or next(iter(models.values()), None)
        if model is None:
            return None
        vectors = queries.question_vectors(model, model.digest, state.record.id, state.record.members)
        if state.asking is None or state.asking.vectors is not vectors:
            state.asking = Asking(vectors)
    return state.asking


def question_data(state: RelabelState, question: Question | None, over: bool = False) -> dict[str, Any]:
    """Return what the browser needs to draw a question; ``over``: whether the budget is spent."""
    nothing_left = "Nothing is left to ask. Look at the clusters."
    if over:
        nothing_left = "The budget is spent. Raise it to go on."
    elif len(state.partition.clusters) < 2:
        nothing_left = "Questions need at least two clusters. Create them, or begin a labelling with a clustering."
    found: dict[str, Any] = {
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "words": {**{name: WORDS[name] for name in ("saving", "late", "lost")}, "more": "More"},
        "status": status_text(state),
        "notice": state.notice,
        "answers": len(answers(state.partition)),
        "question": state.asking.token if state.asking else "",
        "title": _TITLES[question.kind] if question else nothing_left,
        "sentences": [],
        "options": [],
        "short": True,
        "hint": "",
        "actions": [_option("undo", "u", "Undo", disabled=not state.session.undo_state.undoable)],
    }
    return found | _parts(state, question, found["actions"]) if question else found


def _parts(state: RelabelState, question: Question, actions: list[dict[str, Any]]) -> dict[str, Any]:
    skip = _answer(SKIP, "s", "Skip")
    first, *others = question.sentences
    if question.kind is QuestionKind.PAIR:
        return {
            "sentences": [_sentence(state, first, "A"), _sentence(state, others[0], "B")],
            "options": [_answer(YES, "y", "Yes"), _answer(NO, "n", "No")],
            "hint": _effect(state, question),
            "actions": [skip, *actions],
        }
    options = [
        _answer(str(place), str(place), _name(state, other), state, other) for place, other in enumerate(others, 1)
    ]
    return {
        "sentences": [_sentence(state, first)],
        "options": options,
        "short": False,
        "actions": [_answer(NO, "0", "None of these"), skip, *actions],
    }


def _effect(state: RelabelState, question: Question) -> str:
    p = state.partition
    sizes = [p.sizes()[int(number)] for number in p.numbers[p.rows(question.sentences)]]
    one, other = (
        f"“{_name(state, sentence)}” ({count(size, 'sentence')})"
        for sentence, size in zip(question.sentences, sizes, strict=True)
    )
    if question.effect is Effect.MERGE:
        return f"Yes merges {one} and {other}."
    return f"No splits {one}." if question.effect is Effect.SPLIT else ""


def _name(state: RelabelState, sentence: int) -> str:
    number = int(state.partition.numbers[state.partition.rows([sentence])[0]])
    return "unassigned" if number == UNASSIGNED else shorten(state.partition.clusters[number].name, _MAX_NAME)


def _sentence(state: RelabelState, sentence: int, letter: str = "") -> dict[str, str]:
    text = shorten(state.session.texts.get(sentence, ""), _MAX_TEXT)
    return {"letter": letter, "text": text, "place": _place(state, sentence)}


def _place(state: RelabelState, sentence: int) -> str:
    """Return article and section of a sentence; "" in blind mode, and where all sentences are of one section."""
    if state.record.blind or not (state.texts.several_articles or state.texts.several_sections):
        return ""
    row = state.texts.row[sentence]
    return f"{state.texts.articles[row]} · {state.texts.sections[row]}"


def _answer(value: str, key: str, label: str, state: RelabelState | None = None, sentence: int = -1) -> dict[str, Any]:
    option = _option("answer", key, label) | {"value": value}
    if state is None:
        return option
    text = shorten(state.session.texts.get(sentence, ""), _MAX_EXAMPLE)
    return option | {"example": text, "place": _place(state, sentence)}


def _option(kind: str, key: str, label: str, disabled: bool = False) -> dict[str, Any]:
    return {"kind": kind, "key": key, "label": label, "disabled": disabled}


def _progress(state: RelabelState) -> None:
    given = len(answers(state.partition))
    budget = int(st.session_state.get(f"relabel_budget_{state.record.id}", _DEFAULT_BUDGET))
    with st.container(border=True, gap="xsmall"):
        st.progress(min(given / budget, 1.0), f"{given:,} of {count(budget, 'answer')}")
        standing = questions.standing_answers(state.session.steps)
        if standing:
            st.markdown(f"Last answer: {plain(standing[-1].summary)}.")
        reason = questions.stop_reason([step.size for step in standing])
        if reason:
            st.info(f"**You can stop here.** {plain(reason)}", icon=":material/flag:")
        clusters = sum(size > 0 for number, size in state.partition.sizes().items() if number != UNASSIGNED)
        st.caption(f"{count(clusters, 'cluster')} now. Answers change the clusters at once.")


def _contradictions(state: RelabelState) -> None:
    found = constraints(state.partition).contradictions
    if not found:
        return
    known = answers(state.partition)
    with st.container(border=True, gap="xsmall"):
        st.markdown(f":material/warning: **{count(len(found), 'contradiction')}**")
        st.caption("The latest answer of each has no effect. Take back the wrong one; its question may come again.")
        for contradiction in found[:_MAX_CONTRADICTIONS]:
            with st.expander(f"Answer {int(contradiction.answer):,}"):
                for key in (contradiction.answer, *contradiction.others):
                    question = known[key].question
                    value = known[key].value
                    st.markdown(f"**{int(key):,}: {'apart' if value == NO else 'together'}**")
                    shown = (
                        question.sentences
                        if value in (YES, NO)
                        else (question.sentences[0], question.sentences[int(value)])
                    )
                    for sentence in shown:
                        st.caption(plain(shorten(state.session.texts.get(sentence, ""), _MAX_EXAMPLE)))
                    if not state.read_only:
                        st.button(
                            "Take back",
                            icon=":material/undo:",
                            key=f"relabel_questions_back_{state.record.id}_{contradiction.answer}_{key}",
                            on_click=_take_back,
                            args=(state, key),
                        )


def _take_back(state: RelabelState, key: str) -> None:
    state.travel(
        lambda session: session.do(questions.take_back(session.partition, key), selection_method=METHOD),
        "This answer was taken back already.",
    )
    state.notice = state.notice or "The answer was taken back. What it had moved stays; use Undo or move the sentences."
