"""Training items of a labelling: sentences with their right cluster, on which new labellers practise.

People who may change the labelling choose them. Tasks use the same items to check the work of labellers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from themescope.core.errors import DataError
from themescope.core.labelling.changes import EntryChange
from themescope.core.labelling.codebook.entries import clean_text
from themescope.core.labelling.entries import Entry, EntryKey, EntryKind
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.types import Estimate

EXPLANATION_LIMIT, ITEM_LIMIT = 5_000, 500
"""Maximum number of characters of an explanation, and of items of a labelling."""


@dataclass(frozen=True, slots=True)
class TrainingItem:
    """Sentence with the cluster into which it belongs."""

    key: str
    """Key of its entry."""
    sentence: int
    cluster: int
    explanation: str = ""
    """Why it belongs there."""


def training_items(partition: Partition) -> list[TrainingItem]:
    """Return the training items of a labelling, see :func:`items_of`."""
    return items_of(partition.entries, partition.clusters)


def items_of(entries: Mapping[EntryKey, Entry], clusters: Collection[int]) -> list[TrainingItem]:
    """Return the training items whose cluster is one of ``clusters``, by sentence; of several for one, the first."""
    found: dict[int, TrainingItem] = {}
    for (kind, key), entry in sorted(entries.items(), key=lambda pair: pair[0]):
        item = _item(key, entry) if kind is EntryKind.TRAINING else None
        if item is not None and item.cluster in clusters:
            found.setdefault(item.sentence, item)
    return [found[id] for id in sorted(found)]


def _item(key: str, entry: Entry) -> TrainingItem | None:
    if len(entry.sentences) != 1 or len(entry.clusters) != 1:
        return None
    text = entry.data.get("explanation")
    return TrainingItem(key, entry.sentences[0], entry.clusters[0], text if isinstance(text, str) else "")


def chosen(partition: Partition, keys: Iterable[str], ids: Iterable[int], explanation: str = "") -> list[EntryChange]:
    """Return the changes that make assigned sentences training items of their present clusters.

    ``keys`` are new keys, one for each sentence that is not an item yet; an item keeps its key.

    Raises :class:`DataError` if a sentence is unassigned, the explanation too long, or there are too many items.
    """
    known, fresh = {item.sentence: item for item in training_items(partition)}, iter(keys)
    text = _explanation(explanation)
    found = []
    for id in dict.fromkeys(ids):
        number = int(partition.numbers[partition.rows([id])[0]])
        if number == UNASSIGNED:
            raise DataError("A training item needs a cluster. Assign the sentence first.")
        key = known[id].key if id in known else next(fresh)
        found.append(_put(partition, TrainingItem(key, id, number, text)))
    if len(known) + sum(made.old is None for made in found) > ITEM_LIMIT:
        raise DataError(f"A labelling may have {ITEM_LIMIT} training items.")
    return [made for made in found if made.old != made.new]


def explained(partition: Partition, item: TrainingItem, explanation: str) -> EntryChange:
    """Return the change of the explanation of an item; raise :class:`DataError` if it is too long."""
    return _put(partition, TrainingItem(item.key, item.sentence, item.cluster, _explanation(explanation)))


def dropped(partition: Partition, item: TrainingItem) -> EntryChange:
    """Return the change that makes a sentence no longer a training item."""
    return EntryChange(EntryKind.TRAINING, item.key, partition.entries.get((EntryKind.TRAINING, item.key)), None)


def _explanation(text: str) -> str:
    text = clean_text(text)
    if len(text) > EXPLANATION_LIMIT:
        raise DataError(f"An explanation may have {EXPLANATION_LIMIT:,} characters; this one has {len(text):,}.")
    return text


def _put(partition: Partition, item: TrainingItem) -> EntryChange:
    old = partition.entries.get((EntryKind.TRAINING, item.key))
    new = Entry({"explanation": item.explanation}, (item.sentence,), (item.cluster,))
    return EntryChange(EntryKind.TRAINING, item.key, old, new)


def share_right(answers: Sequence[bool]) -> Estimate | None:
    """Return the share of right answers with its 95 % interval; None without answers.

    The interval is that of Wilson 1927 (score interval), which is defined for 0 and all right, too.
    """
    if not answers:
        return None
    from scipy.stats import binomtest

    found = binomtest(sum(answers), len(answers)).proportion_ci(method="wilson")
    return Estimate(sum(answers) / len(answers), float(found.low), float(found.high), len(answers))
