"""Export and import of labellings as files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.errors import DataError
from core.labelling.history import Step
from core.labelling.partition import UNASSIGNED
from db.label_records import LabellingRecord
from db.store import Store, Unit
from jobs.bundles.labellings import Document, Place, export_document, from_lines, moved, store_document, to_lines
from jobs.services.labelling.starts import LEAD, section_titles

HEADER = (
    "sentence_id",
    "article",
    "section",
    "position",
    "sentence",
    "cluster",
    "cluster_number",
    "uncertain",
    "note",
    "changed_by",
    "changed",
)


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
    by_title: dict[str, dict[int, Place]] = {}
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


def rows(store: Store, labelling_id: int) -> list[tuple[Any, ...]]:
    """Return the current state as rows, see :data:`HEADER`, in reading order."""
    with store.reading() as r:
        snapshot = r.labellings.snapshot(labelling_id)
        steps: dict[int, Step] = {step.id: step for step in r.label_steps.list(labelling_id)}
        p = snapshot.partition
        sentences = r.corpora.sentences_by_id(p.ids)
        articles = r.corpora.articles_by_id({s.article_id for s in sentences.values()})
        titles = section_titles(r, [*sentences.values()])
    table = []
    for row, id in enumerate(p.ids.tolist()):
        s, number, last = sentences[id], int(p.numbers[row]), steps.get(int(snapshot.versions[row]))
        table.append(
            (
                id,
                articles[s.article_id].title,
                titles.get((s.article_id, s.section), LEAD),
                s.position,
                s.text,
                "" if number == UNASSIGNED else p.clusters[number].name,
                number,
                bool(p.uncertain[row]),
                p.notes.get(id, ""),
                last.person if last else "",
                last.when.isoformat() if last else "",
            )
        )
    return sorted(table, key=lambda line: (articles[sentences[line[0]].article_id].position, line[3]))
