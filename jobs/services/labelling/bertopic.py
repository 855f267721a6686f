"""Topics that BERTopic found, as tables of labels: the frame of ``get_document_info``, or a saved model.

Outliers, which BERTopic gives the topic -1, are unassigned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from themescope.core.errors import DataError, ReadError
from themescope.core.labelling.provenance import Source
from themescope.core.readers.tables import Sheet, one_line
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts

TOPICS = "topics.json"
"""File of a model that was saved as safetensors or as PyTorch tensors."""
_FRAME = frozenset({"Document", "Topic", "Name"})
_OUTLIERS = "-1"
_BY = (Source.MACHINE.value, "BERTopic")
_COLUMNS = ("cluster", "source", "coder", "probability")


def as_labels(sheet: Sheet) -> Sheet:
    """Return a table of sentences and clusters for the frame of ``get_document_info``; other tables unchanged."""
    if not set(sheet.columns) >= _FRAME:
        return sheet
    named = "CustomName" if "CustomName" in sheet.columns else "Name"
    documents, topics, labels = (sheet.column(name) for name in ("Document", "Topic", named))
    names = _unique(dict(zip(topics, labels, strict=True)))
    sure = sheet.column("Probability") if "Probability" in sheet.columns else [""] * len(documents)
    rows = tuple((text, names[topic], *_BY, p) for text, topic, p in zip(documents, topics, sure, strict=True))
    return Sheet(("sentence", *_COLUMNS), rows, sheet.cut, sheet.numbers)


def is_saved(path: Path) -> bool:
    """Return whether a path is the folder of a saved BERTopic model."""
    return (path / TOPICS).is_file()


def saved_labels(store: Store, corpus_id: int, article_id: int | None, folder: Path) -> Sheet:
    """Return a table of sentence ids and clusters for a saved model; its documents are the sentences in their order.

    Raises :class:`ReadError` if the files are damaged, and :class:`DataError` if there are more or fewer sentences.
    """
    topics, names = _saved(folder / TOPICS)
    with store.reading() as r:
        ids = [sentence.id for sentence in starts.sentences_of(r, corpus_id, article_id)]
    if len(ids) != len(topics):
        raise DataError(
            f"The model was fitted to {len(topics):,} documents, but there are {len(ids):,} sentences. Choose the "
            "corpus or the article that it was fitted to, or import the table of get_document_info()."
        )
    rows = tuple((str(id), names[topic], *_BY, "") for id, topic in zip(ids, topics, strict=True))
    return Sheet(("sentence_id", *_COLUMNS), rows, numbers=tuple(range(1, len(rows) + 1)))


def _saved(path: Path) -> tuple[list[str], dict[str, str]]:
    """Return the topic of each document, and the name of each topic."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        topics = [str(int(topic)) for topic in content["topics"]]
        listed = sorted({int(topic) for topic in topics})
        labels = {str(topic): str(label) for topic, label in content["topic_labels"].items()}
        custom = content.get("custom_labels")
        if custom:
            labels |= {str(topic): str(label) for topic, label in zip(listed, custom, strict=True)}
        return topics, _unique({topic: labels.get(topic, topic) for topic in topics})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReadError(path, f"these are no topics of BERTopic ({type(error).__name__}).") from None


def _unique(labels: Mapping[str, str]) -> dict[str, str]:
    """Return topic → name, different for different topics and "" for outliers."""
    found: dict[str, str] = {}
    for topic, label in labels.items():
        name = _name(topic, label)
        found[topic] = "" if topic == _OUTLIERS else name if name not in found.values() else f"{name} ({topic})"
    return found


def _name(topic: str, label: str) -> str:
    """Return a label without its number: ``3_nuclear_weapons_states`` → nuclear, weapons, states."""
    number, _, words = label.partition("_")
    parts: Sequence[str] = words.split("_") if number == topic and words else [label]
    return one_line(", ".join(part for part in parts if part)) or f"topic {topic}"
