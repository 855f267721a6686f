"""Gold labellings from several labellings: the consensus of the posterior, or the majority where that is undefined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from themescope.core.labelling.code_sets import ALLOWED, allows_several, code_clusters, coded, holding
from themescope.core.labelling.partition import Entry, EntryKind, Partition, start
from themescope.core.labelling.provenance import Source
from themescope.core.types import Floats, Ids, Labels
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store, Unit
from themescope.jobs.common.labelled.placed import gold_labels, joint_provenance
from themescope.jobs.services.labelling.agreement import coded_text
from themescope.jobs.services.labelling.starts import Begin, Beginning, clusters, from_labels

if TYPE_CHECKING:
    from themescope.core.labelling.consensus import CoAssignment
    from themescope.core.labelling.posterior import RaterModel

Mask = npt.NDArray[np.bool_]
CLOSE = 0.1
"""Smallest difference between the probabilities of two places of a sentence that decides between them."""


@dataclass(frozen=True, slots=True, eq=False)
class Adjudication:
    """What follows from several labellings of n sentences; row i of every array is one sentence."""

    model: RaterModel
    labels: Labels
    """(n,) clusters of the consensus, -1 for sentences that nobody has assigned."""
    certainty: Floats
    """(n,) mean probability of belonging together with the other sentences of the cluster in the article."""
    runner_up: Labels
    """(n,) the cluster of the second highest probability; -1 if there is none."""
    runner_up_probability: Floats
    differ: Mask
    """(n,) sentences that people put into different clusters, after the clusters of the article were matched."""
    dispute: Floats
    """(n,) bits of uncertainty about pairs of the article on which people differ, per pair."""
    unclear: Mask
    """(n,) sentences in different clusters, none of which is clearly the most probable."""
    names: Mapping[int, str]
    """Cluster of the consensus → the name that people gave to most of its sentences."""
    expected_ari: float | None
    """Mean over articles of the expected adjusted Rand index with the true clusters."""


def adjudicated(
    raters: Sequence[Labels], articles: Ids, names: Sequence[Mapping[int, str]], gold: Collection[int] = ()
) -> Adjudication:
    """Compute the posterior and the consensus of labellings.

    The consensus is that of every article. Clusters of two articles are the same if people called them the same,
    because nobody may have labelled both articles.

    Parameters
    ----------
    raters
        (n,) cluster numbers of each labelling; -1 for sentences that are unassigned or do not count.
    articles
        (n,) article of each sentence.
    names
        Number → name of the clusters of each labelling.
    gold
        Positions of labellings that are known to be right.
    """
    from themescope.core.labelling.consensus import by_article
    from themescope.core.labelling.posterior import fit

    model = fit(raters, articles, gold)
    columns: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    expected = []
    for rows, posterior in by_article(model, raters, articles):
        own = [labels[rows] for labels in raters]
        found, value = _of_article(posterior, own, names, numbers)
        for name, values in found.items():
            columns.setdefault(name, np.zeros(len(articles), dtype=values.dtype))[rows] = values
        if (found["labels"] >= 0).sum() > 1:
            expected.append(value)
    called = {number: name.partition("\0")[0] for name, number in numbers.items()}
    mean = float(np.mean(expected)) if expected else None
    return Adjudication(model, **columns, names=called, expected_ari=mean)


def _of_article(
    posterior: CoAssignment, raters: Sequence[Labels], names: Sequence[Mapping[int, str]], numbers: dict[str, int]
) -> tuple[dict[str, Any], float]:
    """Return the columns of an article, and the expected adjusted Rand index; ``numbers`` of clusters are extended."""
    from themescope.core.labelling.agreement import adjudicate
    from themescope.core.labelling.consensus import consensus, disputed, support

    made = consensus(posterior)
    differ = adjudicate(raters).dispute > 0
    called = _names(made.labels, raters, names)
    clusters = np.unique(made.labels[made.labels >= 0]).tolist()
    number = np.full(max(clusters, default=-1) + 2, -1, dtype=np.int32)  # the last one stands for -1
    for label in clusters:
        # A cluster without a name of its own is none of another article.
        name = called.get(label) or f"\0{len(numbers)}"
        number[label] = numbers.setdefault(name, len(numbers))
    columns = {
        "labels": number[made.labels], "certainty": made.certainty, "runner_up": number[made.runner_up],
        "runner_up_probability": made.runner_up_probability, "differ": differ, "dispute": disputed(posterior),
        "unclear": differ & _unclear(support(posterior)),
    }  # fmt: skip
    return columns, made.expected_ari


def _unclear(places: Floats) -> npt.NDArray[np.bool_]:
    """Return the (n,) mask of sentences without a place that is more probable than not, and than the least one."""
    known = ~np.isnan(places)
    best = np.where(known, places, -1.0).max(axis=0, initial=-1.0)
    least = np.where(known, places, 2.0).min(axis=0, initial=2.0)
    return np.asarray((best < 0.5) | (best - least < CLOSE))


def _names(labels: Labels, raters: Sequence[Labels], names: Sequence[Mapping[int, str]]) -> dict[int, str]:
    """Name each cluster as most of its labels are called; a name is used once, where it is most frequent."""
    counts = Counter[tuple[int, str]]()
    for own, called in zip(raters, names, strict=False):
        both = (labels >= 0) & (own >= 0)
        pairs, times = np.unique(np.stack([labels[both], own[both]]), axis=1, return_counts=True)
        for label, number, count in zip(*pairs.tolist(), times.tolist(), strict=True):
            if name := called.get(number, ""):
                counts[label, name] += count
    found: dict[int, str] = {}
    for (label, name), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if label not in found and name not in found.values():
            found[label] = name
    return found


def gold_votes(labels: Sequence[Labels], placed: Sequence[Mask], placed_only: bool) -> list[Labels]:
    """Return the (n,) labels of all people from which a gold labelling is made, -1 for sentences that do not count.

    Parameters
    ----------
    labels
        (n,) cluster numbers of each person.
    placed
        (n,) mask of the sentences that each person placed.
    placed_only
        Whether only labels of the people who placed a sentence count where somebody did. Sentences that nobody placed
        are where the labellings began.
    """
    if not placed_only:
        return [*labels]
    nobody = ~np.logical_or.reduce(placed)
    return [np.where(mask | nobody, own, -1).astype(np.int32) for own, mask in zip(labels, placed, strict=True)]


def from_adjudication(labelling_ids: Sequence[int], placed_only: bool = False, gold_id: int | None = None) -> Begin:
    """Return the consensus of labellings, from the posterior if it is defined, or else the majority of their votes.

    Where several codes per sentence are allowed, a sentence has each code that more than half of its people gave it.

    Sentences that people put into different clusters, none of which is clearly the most probable, are marked
    uncertain; ties of a majority begin unassigned and marked. ``placed_only`` is that of :func:`gold_votes`. The labels
    of ``gold_id`` are known to be right.
    """

    def initial(store: Store, new: NewLabelling) -> Beginning:
        with store.reading() as r:
            records = [r.labellings.get(id) for id in labelling_ids]
            text = coded_text(r, records)
            ids, coders = text.ids, text.coders
            gold, called = gold_on(r, gold_id, ids)
            made = joint_provenance(r, records, ids)
        labels = gold_votes([coder.labels for coder in coders], [coder.placed for coder in coders], placed_only)
        states = [coder.state for coder in coders]
        if any(map(allows_several, states)):
            return _code_by_code(labels, states, ids, [record.name for record in records])._replace(labels=made)
        names = [{number: cluster.name for number, cluster in state.clusters.items()} for state in states]
        origin: dict[str, Any] = {"from": "adjudication", "of": [record.name for record in records]}
        known = (gold >= 0).any()
        found = adjudicated(
            [*labels, *([gold] if known else [])], text.articles, [*names, called], [len(labels)] if known else []
        )
        if found.model.undefined:
            return _majority(store, new, labels, states, ids, origin)._replace(labels=made)
        expected = None if found.expected_ari is None else round(found.expected_ari, 4)
        origin = origin | {"method": "posterior", "expected_ari": expected, "equal": found.model.equal}
        first = from_labels(ids, found.labels, found.names, origin)(store, new)
        machine = np.array([maker.source is Source.MACHINE for maker in made.makers], np.bool_)[made.maker]
        made = replace(made, probability=np.where(machine, found.certainty, np.nan))
        return first._replace(partition=replace(first.partition, uncertain=found.unclear), labels=made)

    return initial


def gold_on(r: Unit, gold_id: int | None, ids: Ids) -> tuple[Labels, Mapping[int, str]]:
    """Return the (n,) right clusters of sentences, -1 where they are not known, and the names of the clusters."""
    labels = np.full(len(ids), -1, dtype=np.int32)
    if gold_id is None:
        return labels, {}
    known = gold_labels(r, gold_id)
    labels[:] = [known.get(int(id), -1) for id in ids]
    return labels, {number: cluster.name for number, cluster in r.labellings.clusters(gold_id).items()}


def _code_by_code(labels: Sequence[Labels], states: Sequence[Partition], ids: Ids, of: Sequence[str]) -> Beginning:
    """Return the codes, joined by name, that more than half of the people gave; with half, a sentence is uncertain."""
    names = list(dict.fromkeys(c.name for state in states for c in code_clusters(state).values()))
    votes, people = np.zeros((len(ids), len(names)), np.int64), np.zeros(len(ids), np.int64)
    for own, state in zip(labels, states, strict=True):
        people += own >= 0
        for number, code in code_clusters(state).items():
            votes[:, names.index(code.name)] += np.isin(own, holding(state, number))
    given, tied = 2 * votes > people[:, None], (2 * votes == people[:, None]) & (votes > 0)
    numbered = clusters(names)
    first = start(ids, None, numbered)
    first = replace(first, entries={(EntryKind.CODES, ALLOWED): Entry()}, uncertain=tied.any(axis=1))
    wanted = {
        id: frozenset(numbered[at].number for at in np.flatnonzero(row))
        for id, row in zip(ids.tolist(), given, strict=True)
    }
    return Beginning(coded(first, wanted), {"from": "adjudication", "of": list(of), "method": "majority of each code"})


def _majority(
    store: Store,
    new: NewLabelling,
    labels: Sequence[Labels],
    states: Sequence[Partition],
    ids: Ids,
    origin: Mapping[str, Any],
) -> Beginning:
    from themescope.core.labelling.agreement import adjudicate

    verdict = adjudicate(labels)
    names = {label: states[rater].clusters[number].name for label, (rater, number) in verdict.names.items()}
    origin = dict(origin) | {"method": "majority"}
    first = from_labels(ids, verdict.labels, names, origin)(store, new)
    return first._replace(partition=replace(first.partition, uncertain=verdict.labels < 0))
