"""Export and import of labellings as files, and topics that BERTopic found, as tables of labels.

Outliers, which BERTopic gives the topic -1, are unassigned.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from themescope.core.errors import DataError, ReadError, StoreError
from themescope.core.labelling.partition import Partition, code_names
from themescope.core.labelling.provenance import Maker, Provenance, Source
from themescope.core.readers.documents.packages import DAMAGE
from themescope.core.readers.streams import excessive_size
from themescope.core.readers.tables import Sheet, TableForm, one_line, read_sheet
from themescope.core.readers.workbooks import is_sheet
from themescope.core.records.answers import LocatedSentence
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Ids
from themescope.db.sql import BATCH
from themescope.db.store import Store, Unit
from themescope.jobs.bundles import labellings
from themescope.jobs.common.labelled import code_makers_of, judged_sentences, provenance_of
from themescope.jobs.services.labelling import foreign_labels, starts
from themescope.jobs.services.labelling.starts import LEAD
from themescope.jobs.services.search import sentences_of_ids

PLACE = ("sentence_id", "article", "section", "position", "paragraph", "start", "sentence")
"""Columns of a sentence.

Position is the index in the article, paragraph that of the paragraph in its section, and start the offset of the first
character in the paragraph, -1 if unknown.
"""
_MADE = ("source", "coder", "probability")
HEADER = (*PLACE, "cluster", "cluster_number", "theme", "uncertain", "note", *_MADE, "changed")
"""Columns of the current state. Several codes are a JSON list in the column cluster, which imports read.

The theme is that of which the cluster is a sub-theme, or a JSON list of those of several codes; it is empty for a
theme.

Source ("human", "machine" or "imported"), coder and probability are those of the label; empty for an unassigned one.
"""
Row = tuple[Any, ...]


def export_lines(store: Store, labelling_id: int) -> str:
    """Return the labelling with its history as JSON lines."""
    return "".join(labellings.to_lines(labellings.export_document(store, labelling_id)))


def import_lines(store: Store, corpus_id: int, lines: Iterable[str], path: Path | str) -> LabellingRecord:
    """Import an exported labelling with its people, steps and times; its name is numbered if taken.

    Raises ``ReadError`` if the file is damaged, and ``DataError`` if the corpus does not have its sentences.
    """
    document = labellings.from_lines(lines, path)
    with store.reading() as r:
        names, article = _sentences_of(r, corpus_id, document)
    with store.writing() as w:
        return labellings.store_document(w, corpus_id, labellings.moved(document, names), article)


def _sentences_of(r: Unit, corpus_id: int, document: labellings.LabellingDocument) -> tuple[dict[int, int], int | None]:
    """Match sentences by article, position and text: return old id → id, and the article if there is one."""
    names: dict[int, int] = {}
    articles: set[int] = set()
    by_title: dict[str, dict[int, labellings.SentencePlace]] = {}
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
            raise DataError(f"The project {name!r} does not have the sentences of {title!r}. Choose the right project.")
    return names, next(iter(articles)) if len(articles) == 1 else None


def rows(store: Store, labelling_id: int) -> list[Row]:
    """Return the current state as rows, see :data:`HEADER`, in reading order."""
    return [row for part in row_parts(store, labelling_id) for row in part]


def row_parts(store: Store, labelling_id: int) -> Iterator[list[Row]]:
    """Yield :func:`rows` in parts of about 2,000, each read in a transaction of its own; at least one part."""
    with store.reading() as r:
        snapshot = r.labellings.snapshot(labelling_id)
        record = r.labellings.get(labelling_id)
        made = provenance_of(r, record, snapshot.partition)
        others = code_makers_of(r, record, snapshot.partition, made)
        changed = {step.id: step.when.isoformat() for step in r.label_steps.list(labelling_id)}
    p, versions = snapshot.partition, snapshot.versions
    names = {n: (_cell(codes), _cell(_themes(p, codes))) for n, codes in code_names(p).items()}

    def row(sentence: LocatedSentence, at: int) -> Row:
        number = int(p.numbers[at])
        name, theme = names.get(number, ("", ""))
        said = name, number, theme, bool(p.uncertain[at]), p.notes.get(sentence.id, "")
        when = changed.get(int(versions[at]), "")
        return (*place_cells(sentence), *said, *_made_cells(made, others, sentence.id, at), when)

    return sentence_parts(store, p.ids, row)


def _cell(listed: Sequence[str]) -> str:
    """Return the cell of the codes of a sentence, or of their themes: a list in JSON if there are several."""
    return json.dumps(listed, ensure_ascii=False) if len(listed) > 1 and any(listed) else "".join(listed)


def _themes(p: Partition, codes: Iterable[str]) -> list[str]:
    """Return the name of the theme of each code, "" for none."""
    by_name = {cluster.name: p.clusters.get(cluster.parent or -1) for cluster in p.clusters.values()}
    return [theme.name if (theme := by_name[code]) else "" for code in codes]


def prediction_table(store: Store, labelling_id: int) -> tuple[tuple[str, ...], list[Row]]:
    """Return header and rows of what people coded and the machine predicts, in reading order.

    Where a person coded a sentence, "code" is theirs and "source" is "human", else it is the predicted one; of a
    labelled sentence, the prediction was learned without its document. The last columns have the probability of each
    code.
    """
    with store.reading() as r:
        record, partition = r.labellings.get(labelling_id), r.labellings.snapshot(labelling_id).partition
        stored = r.predictions.newest(labelling_id)
        if stored is None:
            raise DataError("Nothing was predicted from this coding yet.")
        ids, probabilities = r.predictions.values(stored.id)
        judged = judged_sentences(r, record, partition)
        kept = np.isin(ids, r.maps.places(ids).ids)
    ids, probabilities = ids[kept], np.asarray(probabilities[kept], np.float64)
    given = dict(zip(partition.ids.tolist(), partition.numbers.tolist(), strict=True))
    names = {n: cluster.name for n, cluster in partition.clusters.items()}
    codes = [names.get(number, "a deleted code") for number in stored.codes]
    best, human = probabilities.argmax(axis=1), np.isin(ids, judged)

    def row(sentence: LocatedSentence, at: int) -> Row:
        predicted = codes[int(best[at])]
        code = names.get(given[sentence.id], "") if human[at] else predicted
        source = Source.HUMAN if human[at] else Source.MACHINE
        chances = [round(float(one), 4) for one in probabilities[at]]
        return (*place_cells(sentence), code, source.value, predicted, max(chances), *chances)

    header = (*PLACE, "code", "source", "predicted_code", "probability", *(f"p_{code}" for code in codes))
    return header, [*chain.from_iterable(sentence_parts(store, ids, row))]


def _made_cells(made: Provenance, others: Mapping[int, Mapping[int, Maker]], id: int, row: int) -> Row:
    """Return source, coder and probability; the coder is everybody who gave one of the codes."""
    source, coder, sure = made.cells(row)
    return source, ", ".join(sorted({maker.coder for maker in others[id].values()})) if id in others else coder, sure


LABEL_STUDIO, DOCCANO = "label-studio", "doccano"


def label_studio(store: Store, labelling_id: int) -> str:
    """Return the current state as tasks of Label Studio (JSON): a choice of codes for each sentence."""
    about = {"from_name": "codes", "to_name": "text", "type": "choices"}
    tasks = []
    for sentence, codes, more in _coded(store, labelling_id):
        place = dict(zip(PLACE, place_cells(sentence), strict=True))
        data = {"text": place.pop("sentence"), **place, **more}
        made = [{"result": [{**about, "value": {"choices": codes}}]}] if codes else []
        tasks.append({"id": sentence.id, "data": data, "annotations": made})
    return json.dumps(tasks, ensure_ascii=False, indent=1)


def doccano(store: Store, labelling_id: int) -> str:
    """Return the current state as JSON lines of doccano, which imports no comments, but keeps other keys.

    Every line has all keys and no null: doccano makes NaN of what is missing, which its database refuses.
    """
    lines = (
        {"id": sentence.id, "text": sentence.text, "label": codes, **more}
        for sentence, codes, found in _coded(store, labelling_id)
        for more in ({name: "" if value is None else value for name, value in found.items()},)
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _coded(store: Store, labelling_id: int) -> Iterator[tuple[LocatedSentence, list[str], dict[str, Any]]]:
    """Yield the sentences of a labelling with their codes, and with note, mark, maker and themes."""
    with store.reading() as r:
        p = r.labellings.snapshot(labelling_id).partition
        record = r.labellings.get(labelling_id)
        made = provenance_of(r, record, p)
        others = code_makers_of(r, record, p, made)
    listed = ((n, [*codes], zip(codes, _themes(p, codes), strict=True)) for n, codes in code_names(p).items())
    # Pairs, since other programs put the codes into another order.
    names = {n: (codes, {"theme": [pair for pair in pairs if pair[1]]}) for n, codes, pairs in listed}

    def one(sentence: LocatedSentence, at: int) -> Row:
        about = dict(zip(_MADE, _made_cells(made, others, sentence.id, at), strict=True))
        codes, themes = names[int(p.numbers[at])]
        more = {"note": p.notes.get(sentence.id, ""), "uncertain": bool(p.uncertain[at]), **about, **themes}
        return sentence, codes, more

    for part in sentence_parts(store, p.ids, one):
        yield from part


def place_cells(sentence: LocatedSentence) -> Row:
    """Return the cells of :data:`PLACE`."""
    section = sentence.section.strip() or LEAD
    return sentence.id, sentence.article, section, sentence.position, sentence.paragraph, sentence.start, sentence.text


def sentence_parts(store: Store, ids: Ids, row: Callable[[LocatedSentence, int], Row]) -> Iterator[list[Row]]:
    """Yield ``row(sentence, place)`` for the sentences with ascending ids, which are in reading order, in parts.

    Raises ``StoreError`` if they are deleted meanwhile.
    """
    for start in range(0, max(len(ids), 1), BATCH):
        part = ids[start : start + BATCH].tolist()
        with store.reading() as r:
            known = sentences_of_ids(r, part)
        if len(known) < len(part):
            raise StoreError("The project was deleted during the export.")
        yield [row(known[id], at) for at, id in enumerate(part, start)]


TOPICS = "topics.json"
"""File of a model that was saved as safetensors or as PyTorch tensors."""
_FRAME = frozenset({"Document", "Topic", "Name"})
_OUTLIERS = "-1"
_BY = (Source.MACHINE.value, "BERTopic")
_COLUMNS = ("cluster", *_MADE)
_TABLES = (".jsonl", ".json", ".csv", ".tsv")
_UNPACKED = 200_000_000


def read_labels(path: Path, form: TableForm | None = None) -> Sheet:
    """Return the table of labels of a file, or of a ZIP file with a table of each annotator, named after them.

    doccano writes such files, and Potato a folder for each annotator.
    """
    if not zipfile.is_zipfile(path) or is_sheet(path):
        return as_labels(read_sheet(path, starts.MOST_SENTENCES, form, keep_lines=True))
    found: dict[str, Sheet] = {}
    with zipfile.ZipFile(path) as archive, TemporaryDirectory() as folder:
        members = [one for one in archive.infolist() if PurePosixPath(one.filename).suffix.lower() in _TABLES]
        if size := excessive_size(members, _UNPACKED):
            raise ReadError(path, f"this ZIP file has {size} when decompressed, which is too much.")
        places = [PurePosixPath(one.filename) for one in members]
        stems = {place.stem for place in places}
        for member, place in zip(members, places, strict=True):
            part = Path(folder) / f"table{place.suffix}"
            try:
                part.write_bytes(archive.read(member))
            except DAMAGE:
                raise ReadError(path, "this ZIP file is damaged or encrypted.", place.name) from None
            who = place.stem if len(stems) == len(places) else place.parent.name or place.stem
            found[who] = as_labels(read_sheet(part, starts.MOST_SENTENCES, form, keep_lines=True))
    if not found:
        raise ReadError(path, "this ZIP file has no tables of labels (JSON, JSON lines, CSV or TSV).")
    hidden = _MADE if len(found) > 1 else ()  # who made the labels of our export, before others coded
    named = dict.fromkeys([*(name for sheet in found.values() for name in sheet.columns), "annotator"])
    columns = tuple(name for name in named if name not in hidden)
    rows = [
        {"annotator": who} | dict(zip(sheet.columns, row, strict=True))
        for who, sheet in found.items()
        for row in sheet.rows
    ]
    made = tuple(tuple(row.get(name, "") for name in columns) for row in rows)
    cut = any(sheet.cut for sheet in found.values())
    return Sheet(columns, made, cut, tuple(number for sheet in found.values() for number in sheet.numbers))


def as_labels(sheet: Sheet) -> Sheet:
    """Return a table of sentences and clusters for the frame of ``get_document_info``, and objects of other programs.

    Other tables are unchanged.
    """
    if not set(sheet.columns) >= _FRAME:
        return foreign_labels.flat(sheet)
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
            "project or the article that it was fitted to, or import the table of get_document_info()."
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
        number, _, words = label.partition("_")  # 3_nuclear_weapons_states → nuclear, weapons, states
        parts = words.split("_") if number == topic and words else [label]
        name = one_line(", ".join(filter(None, parts))) or f"topic {topic}"
        found[topic] = "" if topic == _OUTLIERS else name if name not in found.values() else f"{name} ({topic})"
    return found
