"""Export and import of labellings as files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.errors import DataError
from core.labelling.history import Step
from core.labelling.partition import UNASSIGNED
from db.label_records import LabellingRecord, NewLabelling, Sharing
from db.store import Store, Unit
from jobs.bundles.labellings import Document, Place, export_document, from_lines, moved, to_lines

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
LEAD = "Introduction"


def export_lines(store: Store, labelling_id: int) -> str:
    """Yield the labelling with its history as JSON lines."""
    return "".join(to_lines(export_document(store, labelling_id)))


def import_lines(store: Store, corpus_id: int, lines: Iterable[str], path: Path | str) -> LabellingRecord:
    """Import an exported labelling: the same sentences, people, steps and times; its name is numbered where taken.

    Raises
    ------
    ReadError
        If the file is damaged.
    DataError
        If a sentence of it is not in the corpus.
    """
    document = from_lines(lines, path)
    with store.reading() as r:
        names, article = _sentences_of(r, corpus_id, document)
    found = moved(document, names)
    about = document.about
    with store.writing() as w:
        new = NewLabelling(
            corpus_id,
            w.labellings.usable_name(str(about["name"])),
            str(about["owner"]),
            Sharing(about["kind"]),
            bool(about["blind"]),
            article if about.get("one_article") else None,
            dict(about["origin"]),
        )
        record = w.labellings.add_imported(new, found.start)
        w.label_steps.take_over(record.id, found.log, found.start)
        return record


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
            raise DataError(f"The corpus {name!r} does not hold the sentences of {title!r}. Choose the right corpus.")
    return names, next(iter(articles)) if len(articles) == 1 else None


def rows(store: Store, labelling_id: int) -> list[tuple[Any, ...]]:
    """Return the current state as rows, see :data:`HEADER`, in reading order."""
    with store.reading() as r:
        snapshot = r.labellings.snapshot(labelling_id)
        steps: dict[int, Step] = {step.id: step for step in r.label_steps.list(labelling_id)}
        p = snapshot.partition
        sentences = r.corpora.sentences_by_id(p.ids)
        articles = r.corpora.articles_by_id({s.article_id for s in sentences.values()})
        sections = r.corpora.sections_of(list(articles))
    titles = {(a, s.position): s.title or LEAD for a, found in sections.items() for s in found}
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


def parquet_bytes(header: tuple[str, ...], lines: list[tuple[Any, ...]]) -> bytes:
    """Return the table as a Parquet file with unchanged values."""
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: [line[place] for line in lines] for place, name in enumerate(header)}
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()
