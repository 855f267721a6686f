"""Operations of the history: an answer with the changes of clusters, small clusters to begin with; and when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from themescope.core.clustering.iclust import Iclust, IclustConfig
from themescope.core.clustering.inputs import extended_labels
from themescope.core.clustering.naming import theme_names, theme_words
from themescope.core.errors import DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.answers import NO, Answer, Effect, QuestionKind, constraints_of, next_key
from themescope.core.labelling.changes import EntryChange, apply, difference
from themescope.core.labelling.entries import EntryKind
from themescope.core.labelling.history import Kind, Step
from themescope.core.labelling.operations import Operation, OperationKind
from themescope.core.labelling.partition import COLOURS, Cluster, Partition
from themescope.core.labelling.questions.moves import Moves
from themescope.core.labelling.questions.state import QuestionState
from themescope.core.types import Ids

Namer = Callable[[Ids], str]
"""Names a new cluster by its sentence ids."""
_TIMES, _LEAST, _MOST = 3.0, 10, 150
_COMPARED = 2_000
"""Maximum number of sentences that are clustered; the others go to the nearest cluster."""
WINDOW = 15
"""Number of last answers that are considered."""
_FEW = 0.1
"""Number of sentences moved by an answer, on average over the window, up to which it is suggested to stop. Chosen on
validation articles (experiment log): going on to the end gains little after it, with wrong answers nothing."""


def answer(state: QuestionState, given: Answer, fresh: int, namer: Namer) -> Operation:
    """Return the operation of an answer; an answer that contradicts earlier ones, or skips, moves nothing.

    New clusters get numbers from ``fresh`` on. Raises :class:`DataError` if a sentence is not part of the labelling.
    """
    if not all(state.has(sentence) for sentence in given.question.sentences):
        raise DataError("This question is about sentences that are not part of the labelling. Load the page again.")
    key = next_key(state.partition)
    constraints = constraints_of({**state.answers, key: given})
    after = state.partition
    if not constraints.contradictions or constraints.contradictions[-1].answer != key:
        moves = Moves(state, constraints.links, fresh)
        moves.answer(given)
        after = _moved(state, given, moves.numbers, fresh, namer)
    before = state.partition
    moved = int((before.numbers != after.numbers).sum())
    parts = [_said(state, given)]
    gone = [cluster.name for number, cluster in before.clusters.items() if number not in after.clusters]
    made = [cluster.name for number, cluster in after.clusters.items() if number not in before.clusters]
    parts += [f"{name} merged" for name in gone]
    parts += [f"new cluster {name}" for name in made]
    parts.append(f"{moved:,} {'sentence' if moved == 1 else 'sentences'} moved" if moved else "no sentence moved")
    summary = ", ".join(parts)
    entries = {**after.entries, (EntryKind.ANSWER, key): given.entry()}
    return Operation(OperationKind.ANSWER, summary, difference(state.partition, replace(after, entries=entries)))


def take_back(partition: Partition, key: str) -> Operation:
    """Remove an answer, so that its question can be asked again; what it moved stays."""
    old = partition.entries.get((EntryKind.ANSWER, key))
    if old is None:
        raise DataError("This answer was taken back already.")
    change = EntryChange(EntryKind.ANSWER, key, old, None)
    return op.entries(OperationKind.REOPEN, f"Answer {int(key):,} taken back", [change])


def _moved(state: QuestionState, given: Answer, numbers: Ids, fresh: int, namer: Namer) -> Partition:
    """Return the partition with the moved sentences, and with clusters created and deleted as needed."""
    before, after = state.partition, state.partition
    if given.question.effect is Effect.MERGE:
        one, other = (state.cluster_of(sentence) for sentence in given.question.sentences[:2])
        for kept, gone in ((one, other), (other, one)):
            if one != other and kept in before.clusters and gone in before.clusters and not (numbers == gone).any():
                after = apply(before, op.merge(before, [gone], kept).change_set)
    clusters = dict(after.clusters)
    for number in np.unique(numbers[numbers >= fresh]).tolist():
        ids = before.ids[numbers == number]
        old = before.clusters.get(int(before.numbers[numbers == number][0]))
        split = given.question.effect is Effect.SPLIT and old is not None
        name = old.name if split and old is not None else namer(ids)
        known = replace(after, clusters=clusters)
        parent = old.parent if split and old is not None else None
        clusters[number] = Cluster(number, op.free_name(known, name), op.free_colour(known), parent)
    return replace(after, clusters=clusters, numbers=numbers)


def _said(state: QuestionState, given: Answer) -> str:
    """Return the answer in words."""
    if given.value == given.question.values()[-1]:
        return "Skipped"
    if given.question.kind is QuestionKind.PAIR:
        return "Together" if given.value != NO else "Apart"
    if given.question.kind is QuestionKind.CLOSER:
        return "Closer to " + "ABC"[int(given.value)]
    if given.chosen is None:
        return "None of these clusters"
    cluster = state.partition.clusters.get(state.cluster_of(given.chosen))
    return f"→ {cluster.name}" if cluster is not None else "→ unassigned"


def suggested_count(state: QuestionState) -> int:
    """Return how many small clusters to make: three times the estimated number of themes, within limits."""
    wanted = min(max(round(_TIMES * state.vectors.themes), _LEAST), _MOST)
    return max(min(wanted, len(state.partition.ids) // 2), 1)


def small_clusters(state: QuestionState, texts: Sequence[str], count: int, first_number: int) -> Operation:
    """Replace all clusters by ``count`` small ones, named by their words; ``texts`` are the (n,) sentences.

    Raises :class:`themescope.core.errors.DataError` if there are fewer sentences than clusters.
    """
    x = state.vectors.unit
    compared = np.sort(np.random.default_rng(state.seed).permutation(len(x))[:_COMPARED])
    found = Iclust(IclustConfig(restarts=3)).fit_predict(x[compared], count, state.seed)
    labels = extended_labels(x, compared, found, count)
    before = after = state.partition
    for number in list(before.clusters):
        after = apply(after, op.delete(after, number).change_set)
    for label, name in enumerate(theme_names(theme_words(texts, labels, count))):
        number = first_number + label
        cluster = Cluster(number, op.free_name(after, name or "Cluster"), label % COLOURS)
        after = after.with_clusters({**after.clusters, number: cluster})
    numbers: Ids = labels.astype(np.int64) + first_number
    summary = f"{count:,} small clusters to merge by answers"
    return Operation(OperationKind.SMALL_CLUSTERS, summary, difference(before, replace(after, numbers=numbers)))


def standing_answers(steps: Iterable[Step]) -> list[Step]:
    """Return the steps of answers that were not undone, in order."""
    found: dict[int, Step] = {}
    for step in steps:
        if step.operation != OperationKind.ANSWER:
            continue
        if step.kind is Kind.UNDO and step.target is not None:
            found.pop(step.target, None)
        else:
            found[step.target or step.id] = step
    return list(found.values())


def stop_reason(moved: Sequence[int]) -> str:
    """Return why it is suggested to stop, given how many sentences each answer moved; "" if it is not."""
    last = moved[-WINDOW:]
    if len(last) < WINDOW or sum(last) > _FEW * WINDOW:
        return ""
    some = {0: "no sentence", 1: "1 sentence"}.get(sum(last), f"{sum(last)} sentences")
    return f"The last {WINDOW} answers moved {some}, so the next ones will probably change little."
