"""Export and import of labellings as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from themescope.core.errors import DataError, StoreError
from themescope.core.records.answers import LocatedSentence
from themescope.core.types import Ids
from themescope.db.label_records import LabellingRecord
from themescope.db.sql import BATCH
from themescope.db.store import Store, Unit
from themescope.jobs.bundles.labellings import (
    Document,
    SentencePlace,
    export_document,
    from_lines,
    moved,
    store_document,
    to_lines,
)
from themescope.jobs.common.labelled.placed import provenance_of
from themescope.jobs.services.labelling.starts import LEAD
from themescope.jobs.services.sentences import sentences_of_ids

HEADER = (
    "sentence_id",
    "article",
    "section",
    "position",
    "sentence",
    "cluster",
    "cluster_number",
    "theme",
    "uncertain",
    "note",
    "source",
    "coder",
    "probability",
    "changed",
)
"""Columns of the current state. The theme is that of which the cluster is a sub-theme; it is empty for a theme.

Source ("human", "machine" or "imported"), coder and probability are those of the label; empty for an unassigned one.
"""
Row = tuple[Any, ...]


def export_lines(store: Store, labelling_id: int) -> str:
    """Return the labelling with its history as JSON lines."""
    return "".join(to_lines(export_document(store, labelling_id)))


def import_lines(store: Store, corpus_id: int, lines: Iterable[str], path: Path | str) -> LabellingRecord:
    """Import an exported labelling with its people, steps and times; its name is numbered if taken.

    Raises ``ReadError`` if the file is damaged, and ``DataError`` if the corpus does not have its sentences.
    """
    document = from_lines(lines, path)
    with store.reading() as r:
        names, article = _sentences_of(r, corpus_id, document)
    with store.writing() as w:
        return store_document(w, corpus_id, moved(document, names), article)


def _sentences_of(r: Unit, corpus_id: int, document: Document) -> tuple[dict[int, int], int | None]:
    """Match sentences by article, position and text: return old id → id, and the article if there is one."""
    names: dict[int, int] = {}
    articles: set[int] = set()
    by_title: dict[str, dict[int, SentencePlace]] = {}
    for id, place in document.places.items():
        by_title.setdefault(place.article, {})[id] = place
    for title, places in by_title.items():
        for article in r.corpora.articles_by_title(corpus_id, title):
            known = {(s.position, s.text): s.id for s in r.corpora.sentences(article.id)}
            if all((p.position, p.text) in known for p in places.values()):
                names |= {id: known[p.position, p.text] for id, p in places.items()}
                articles.add(article.id)
                break
        else:
            name = r.corpora.get(corpus_id).name
            raise DataError(f"The corpus {name!r} does not have the sentences of {title!r}. Choose the right corpus.")
    return names, next(iter(articles)) if len(articles) == 1 else None


def rows(store: Store, labelling_id: int) -> list[Row]:
    """Return the current state as rows, see :data:`HEADER`, in reading order."""
    return [row for part in row_parts(store, labelling_id) for row in part]


def row_parts(store: Store, labelling_id: int) -> Iterator[list[Row]]:
    """Yield :func:`rows` in parts of about 2,000, each read in a transaction of its own; at least one part."""
    with store.reading() as r:
        snapshot = r.labellings.snapshot(labelling_id)
        made = provenance_of(r, r.labellings.get(labelling_id), snapshot.partition)
        changed = {step.id: step.when.isoformat() for step in r.label_steps.list(labelling_id)}
    p, versions = snapshot.partition, snapshot.versions
    themes = {None: ""} | {number: cluster.name for number, cluster in p.clusters.items()}
    names = {number: (cluster.name, themes[cluster.parent]) for number, cluster in p.clusters.items()}

    def row(sentence: LocatedSentence, at: int) -> Row:
        number = int(p.numbers[at])
        name, theme = names.get(number, ("", ""))
        mark, note = bool(p.uncertain[at]), p.notes.get(sentence.id, "")
        when = changed.get(int(versions[at]), "")
        return (*place_cells(sentence), name, number, theme, mark, note, *made.cells(at), when)

    return sentence_parts(store, p.ids, row)


def place_cells(sentence: LocatedSentence) -> Row:
    """Return the first five cells of :data:`HEADER`."""
    return sentence.id, sentence.article, sentence.section.strip() or LEAD, sentence.position, sentence.text


def sentence_parts(store: Store, ids: Ids, row: Callable[[LocatedSentence, int], Row]) -> Iterator[list[Row]]:
    """Yield ``row(sentence, place)`` for the sentences with ascending ids, which are in reading order, in parts.

    Raises ``StoreError`` if they are deleted meanwhile.
    """
    for start in range(0, max(len(ids), 1), BATCH):
        part = ids[start : start + BATCH].tolist()
        with store.reading() as r:
            known = sentences_of_ids(r, part)
        if len(known) < len(part):
            raise StoreError("The corpus was deleted during the export.")
        yield [row(known[id], at) for at, id in enumerate(part, start)]
