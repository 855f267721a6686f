"""Sentences that people have placed, and how well methods cluster them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.columns import ColumnLevel
from themescope.core.errors import DataError
from themescope.core.labelling.changes import rewind
from themescope.core.labelling.partition import UNASSIGNED, EntryKind, Partition, combinations
from themescope.core.labelling.provenance import Approval, Maker, Provenance, Source, code_makers, of_rows, provenance
from themescope.core.readers.table import ROW
from themescope.core.records.stored import MODEL, ArticleRecord, CorpusRecord, LabellingRecord, ModelRecord, RunRecord
from themescope.core.registry import Card
from themescope.core.tasks.topics import TopicDocument, TopicSettings, TopicTask, assemble, central
from themescope.core.triplets.rules import article_key
from themescope.core.types import Ids, Labels, Matrix, Report, Sentence, SubReport
from themescope.db.store import Store, Unit
from themescope.jobs.common.articles import work_digest
from themescope.jobs.common.columns import is_list
from themescope.jobs.common.job import JobContext
from themescope.jobs.common.models import best_first, corpus_shares, find_model
from themescope.jobs.common.vectors import article_groups, load_model, method_of, rows_of

# The sentences of a labelling with their stored vectors, and the models that have these

_MOST_MODELS = 3


class LabelledText:
    """The sentences of a labelling with their vectors."""

    def __init__(self, store: Store, ids: Ids) -> None:
        self._store, self.ids = store, ids
        with store.reading() as r:
            known = r.corpora.sentences_by_id(ids)
        found = [known[int(i)] for i in ids]
        self.texts = [sentence.text for sentence in found]
        self.articles = np.array([sentence.article_id for sentence in found], dtype=np.int64)
        self.positions = np.array([sentence.position for sentence in found], dtype=np.int64)

    def vectors(self, model: str) -> Matrix:
        """Return the (n, dim) stored vectors of the sentences by a model."""
        order = np.argsort(self.articles, kind="stable")
        owners, starts = np.unique(self.articles[order], return_index=True)
        wanted = dict(zip(owners.tolist(), np.split(self.positions[order], starts[1:]), strict=True))
        found: Matrix = rows_of(self._store, find_model(self._store, model), wanted)[np.argsort(order)]
        return found


def models_to_compare(store: Store, record: LabellingRecord, names: Sequence[str]) -> list[ModelRecord]:
    """Return the models that were named, else the best three with vectors of all articles of a labelling.

    Raises :class:`DataError` if there is none, or one that was named has no vectors.
    """
    with store.reading() as r:
        corpus = r.corpora.get(record.corpus_id)
        ids = r.labellings.snapshot(record.id).partition.ids
        articles = {s.article_id for s in r.corpora.sentences_by_id(ids).values()}
        able = [m for m in r.models.list() if articles <= r.embeddings.have(m.id, corpus.id)]
    wanted = [find_model(store, name) for name in names]
    for model in wanted:
        if model not in able:
            raise DataError(f"“{model.name}” has no vectors of these sentences. Embed the project first.")
    if not able:
        raise DataError("No model has vectors of these sentences. Compute a map, or embed the project, first.")
    across = record.article_id is None and corpus.articles > 1
    return wanted or best_first(store, corpus_shares(corpus), corpus.id, models=able, across=across)[:_MOST_MODELS]


# Documents of sentences, by which folds of labels and standard errors are clustered


def is_running_text(r: Unit, corpus: CorpusRecord, sentences: Sequence[Sentence]) -> bool:
    """Return whether the sentences of an article are a text in its order, not the rows of a list.

    A text without headings that is alone in its corpus is a list if most of its paragraphs are single sentences.
    """
    ids, articles = (np.array([getattr(s, name) for s in sentences], np.int64) for name in ("id", "article_id"))
    if (documents_of(r, corpus, ids, articles) == articles).all():
        return True
    if any(column.level is ColumnLevel.SENTENCE and column.name == ROW for column in r.columns.list(corpus.id)):
        return False
    sizes = Counter((s.article_id, s.section, s.paragraph) for s in sentences)
    return 2 * sum(size == 1 for size in sizes.values()) < len(sizes)


def documents_of(r: Unit, corpus: CorpusRecord, ids: Ids, articles: Ids) -> Ids:
    """Return the document (n,) of n sentences: the article, but a row of a list, stored in one article, is its own.

    Rows with a column of titles belong to the article of their title.
    """
    own = np.full(len(ids), is_list(corpus))
    settings = [corpus.report.get("settings", {})]
    settings += [by.get("settings", {}) for by in corpus.report.get("by_file", {}).values()]
    if not any(one.get("title") for one in settings):
        for column in r.columns.list(corpus.id):
            if column.level is ColumnLevel.SENTENCE and column.name == ROW and len(ids):
                own |= ~np.isnan(r.columns.values(column, ids).astype(np.float64))
    return np.where(own, -1 - ids, articles)


# Provenance of the labels of a stored labelling, and what people judged: sentences that they placed, and pairs

MAKER = "maker"
"""Key of an origin: source and coder of all initial labels of the labelling."""
ANNOTATOR = "annotator"
"""Key of an origin: whose labels they are, in a file with those of several annotators."""
_COPIES = frozenset({"labelling", "adjudication"})
"""Origins of labellings that begin with labels given in other labellings."""


def provenance_of(r: Unit, record: LabellingRecord, partition: Partition, until: datetime | None = None) -> Provenance:
    """Return the provenance of the labels of a labelling in its present state, of the sentences of ``partition``.

    With ``until``, ``partition`` is the state at that time. In a labelling of a task, the labels of done items were
    approved by its person.
    """
    whole = len(partition.ids) == record.sentences
    log = r.label_steps.since(record.id, 0, None if whole else partition.ids.tolist())
    approvals = approvals_of(r, record)
    if until is not None:
        log = [(step, change_set) for step, change_set in log if step.when <= until]
        approvals = [approval for approval in approvals if approval.when <= until]
    return provenance(partition, start_provenance(r, record, partition.ids), log, approvals)


def code_makers_of(
    r: Unit, record: LabellingRecord, partition: Partition, made: Provenance
) -> dict[int, dict[int, Maker]]:
    """Return sentence → code → who gave it, for the sentences of a labelling whose codes several gave."""
    if not combinations(partition):
        return {}
    log = r.label_steps.since(record.id, 0, None if len(partition.ids) == record.sentences else partition.ids.tolist())
    return code_makers(partition, made, start_provenance(r, record, partition.ids), log)


def start_provenance(r: Unit, record: LabellingRecord, ids: Ids) -> Provenance:
    """Return the provenance of the labels with which a labelling began: as stored, or else by its origin."""
    stored, origin = r.labellings.start_labels(record.id), record.origin
    if stored:
        return of_rows(ids, stored)
    kind, name = str(origin.get("from", "")), str(origin.get("name", ""))
    if MAKER in origin:
        source, coder = origin[MAKER]
        maker = Maker(Source(source), str(coder))
    elif kind in _COPIES:  # of version 0.2, which stored no makers
        names = [name] if kind == "labelling" else [str(one) for one in origin.get("of", ())]
        earlier = {known.name: known for known in r.labellings.list(record.corpus_id) if known.id < record.id}
        found = [earlier[one] for one in names if one in earlier]
        if found:
            return joint_provenance(r, found, ids, record.created)
        maker = Maker(Source.MACHINE if kind == "labelling" else Source.HUMAN, ", ".join(names))
    elif kind == "table":
        maker = Maker(Source.IMPORTED, name)
    else:
        maker = Maker(Source.MACHINE, name or kind)
    return of_rows(ids, dict.fromkeys(ids.tolist(), (maker, None)))


def run_origin(r: Unit, run_id: int) -> dict[str, Any]:
    """Return the part of an origin that says which run found the themes, and with what."""
    run = r.runs.get(run_id)
    model = next((model.name for model in r.models.list() if model.id == run.model_id), "")
    coder = ", ".join(filter(None, ["themes", model, run.clusterer]))
    return {"run_id": run_id, "model_id": run.model_id, MAKER: [Source.MACHINE.value, coder]}


def joint_provenance(
    r: Unit,
    records: Sequence[LabellingRecord],
    ids: Ids,
    until: datetime | None = None,
    gave: Sequence[npt.NDArray[np.bool_]] = (),
) -> Provenance:
    """Return the provenance of labels that are copied from one labelling, or follow from several, at a time.

    In the second case the coders of a sentence are those who judged it and, by the masks ``gave`` (n,) of each record,
    gave it the label; without masks, all who judged it. A label that none of them gave is that of a machine.
    """
    rows: dict[int, tuple[Maker, float | None]] = {}
    coders: dict[int, dict[str, Source]] = {}
    for place, record in enumerate(records):
        mine = ids[gave[place]] if gave else ids
        state = r.labellings.snapshot(record.id).partition
        if until is not None:
            later = [change_set for step, change_set in r.label_steps.since(record.id, 0) if step.when > until]
            state = rewind(state, later)
        found = provenance_of(r, record, state, until)
        for row in np.flatnonzero(np.isin(state.ids, mine) & (found.maker >= 0)).tolist():
            id, maker = int(state.ids[row]), found.makers[found.maker[row]]
            if len(records) == 1:
                rows[id] = maker, found.cells(row)[2]
            elif maker.source is not Source.MACHINE:
                coders.setdefault(id, {})[maker.coder] = maker.source
    if len(records) > 1:
        rows = dict.fromkeys(ids.tolist(), (Maker(Source.MACHINE, "consensus"), None))
        for id, by in coders.items():
            source = Source.HUMAN if Source.HUMAN in by.values() else Source.IMPORTED
            rows[id] = Maker(source, ", ".join(sorted(by))), None
    return of_rows(ids, rows)


def placed_sentences(r: Unit, record: LabellingRecord, partition: Partition) -> Ids:
    """Return the ascending ids of the assigned sentences that people placed in this labelling, or that were imported.

    Labels that it began with as a copy, or as the consensus of other labellings, are judgements made elsewhere.
    """
    found = provenance_of(r, record, partition)
    own = (found.step != 0) | (record.origin.get("from") not in _COPIES)
    return np.asarray(partition.ids[found.judged & own])


def coded_by_machine(
    record: LabellingRecord, state: Partition, numbers: Ids, coder: str, **about: Any
) -> tuple[Partition, dict[str, Any]]:
    """Return what a labelling of a model begins with, and its origin: codes (n,) by the codebook of a labelling."""
    kept = (EntryKind.CODE, EntryKind.CODES)
    codebook = {key: entry for key, entry in state.entries.items() if key[0] in kept}
    begun = replace(state, numbers=numbers, uncertain=np.zeros(len(numbers), np.bool_), notes={}, entries=codebook)
    origin = {"from": MODEL, "name": record.name, MAKER: [Source.MACHINE.value, coder], **about}
    return begun, origin | ({"task": record.origin["task"]} if "task" in record.origin else {})


def coded_sentences(r: Unit, record: LabellingRecord, partition: Partition) -> Ids:
    """Return the ascending ids of the sentences that the coder of a labelling judged: people, or its model."""
    if not record.by_model:
        return placed_sentences(r, record, partition)
    found = provenance_of(r, record, partition)
    machine = np.array([maker.source is Source.MACHINE for maker in found.makers], np.bool_)
    return np.asarray(partition.ids[(found.maker >= 0) & machine[found.maker]])


def judged_sentences(r: Unit, record: LabellingRecord, partition: Partition) -> Ids:
    """Return the ascending ids of the sentences whose labels people gave, here or elsewhere, and are sure of."""
    return np.asarray(partition.ids[provenance_of(r, record, partition).judged & ~partition.uncertain])


def approvals_of(r: Unit, record: LabellingRecord) -> list[Approval]:
    """Return what a person approved: the sentences of the done items of the task that a labelling was made for."""
    known = r.tasks.of_labelling(record.id)
    if known is None:
        return []
    task, person = known
    done = [(item, item.done) for item in r.tasks.items(task.id, person) if item.done is not None]
    places = [[(item.article_id, position) for position in range(item.first, item.last + 1)] for item, _ in done]
    at = {(s.article_id, s.position): s.id for s in r.corpora.sentences_at(chain.from_iterable(places))}
    inside = [[at[place] for place in own if place in at] for own in places]
    return [Approval(person, when, np.array(ids, np.int64)) for (_, when), ids in zip(done, inside, strict=True)]


def gold_labels(r: Unit, labelling_id: int) -> dict[int, int]:
    """Return sentence → cluster of the gold sentences of a labelling: its training items, or all assigned ones."""
    from themescope.core.labelling.task_items import items_of

    items = items_of(r.labellings.entries(labelling_id), r.labellings.clusters(labelling_id))
    if items:
        return {item.sentence: item.cluster for item in items}
    state = r.labellings.snapshot(labelling_id).partition
    assigned = state.numbers != UNASSIGNED
    return dict(zip(state.ids[assigned].tolist(), state.numbers[assigned].tolist(), strict=True))


# Topic tasks of stored corpora


KIND = "topic-labels"


def topic_task_of(
    context: JobContext,
    card: Card,
    corpus: CorpusRecord,
    model: ModelRecord,
    settings: TopicSettings,
    report: Report,
    limit: int = 0,
) -> TopicTask:
    """Return the task of a corpus whose central sentences are selected by the vectors of ``model``.

    ``card`` is the card of the calling job kind; its revision is part of the digest of the labels. With ``limit`` the
    task has at most so many documents.
    """
    # Held-out documents are chosen afterwards, so their share and the seed are not part of the digest.
    labelling = {name: getattr(settings, name) for name in ("share", "min_words", "threshold", "centred")}
    digest = work_digest(card, method_of(model), run=KIND, model=model.digest, corpus=text_digest(corpus), **labelling)
    with context.store.reading() as r:
        run = r.runs.by_digest(digest)
    if run is None:
        run = _label(context, corpus, model, settings, report, digest=digest, config=labelling)
    with context.store.reading() as r:
        chosen = {article: rows.tolist() for article, rows in r.runs.labels(run.id).items()}
    if limit:
        with context.store.reading() as r:
            articles = r.corpora.articles_by_id(chosen)
        order = sorted(articles.values(), key=lambda a: (article_key(a.title, 0), a.id))
        chosen = {article.id: chosen[article.id] for article in order[:limit]}
    documents = (
        (TopicDocument(article.title, article.topic, article.part, sentences), chosen[article.id])
        for group in _texts(context, corpus, chosen)
        for article, sentences in group
    )
    return assemble(documents, settings)


def vectors_of_articles(
    context: JobContext, corpus: CorpusRecord, model: ModelRecord, report: Report, wanted: Collection[int] | None = None
) -> Iterator[tuple[ArticleRecord, Sequence[Sentence], Matrix]]:
    """Yield every article, or those with the ``wanted`` ids, with its sentences and their vectors.

    The vectors are not stored, because comparisons of many methods would fill the store with blocks that are read once.
    """
    report.progress(0, 1, f"Loading {model.name}")
    fitted = load_model(context.store, model)[0]
    done = 0
    for group in _texts(context, corpus, wanted):
        flat = [sentence for _, sentences in group for sentence in sentences]
        vectors: Any = fitted.embed(flat)
        start = 0
        for article, sentences in group:
            yield article, sentences, vectors[start : start + len(sentences)]
            start += len(sentences)
        done += len(flat)
        report.progress(done, corpus.sentences, f"{done:,} of {corpus.sentences:,} sentences embedded")


def _texts(
    context: JobContext, corpus: CorpusRecord, wanted: Collection[int] | None
) -> Iterator[list[tuple[ArticleRecord, list[Sentence]]]]:
    """Yield groups of (the wanted) articles with their sentences; no transaction is open in between."""
    with context.store.reading() as r:
        articles = r.corpora.articles(corpus.id, limit=corpus.articles)
    if wanted is not None:
        articles = [article for article in articles if article.id in wanted]
    for group in article_groups(articles):
        with context.store.reading() as r:
            found = r.corpora.sentences_of([article.id for article in group])
        yield [(article, found.get(article.id, [])) for article in group]


def _label(
    context: JobContext,
    corpus: CorpusRecord,
    model: ModelRecord,
    settings: TopicSettings,
    report: Report,
    *,
    digest: str,
    config: dict[str, Any],
) -> RunRecord:
    with context.store.reading() as r:
        if not any(topic for topic, _ in r.corpora.topic_counts(corpus.id)):
            raise DataError(
                f"The documents of project {corpus.name!r} have no topics. Import a project with topics, such as "
                "Reuters-21578 or 20 Newsgroups."
            )
    begun = time.monotonic()
    labels: dict[int, Labels] = {}
    mean = None
    if settings.centred:
        mean, report = _mean(context, corpus, model, SubReport(report, 0.0, 0.5)), SubReport(report, 0.5, 1.0)
    for article, sentences, found in vectors_of_articles(context, corpus, model, report):
        vectors = found if mean is None else found - mean
        labels[article.id] = np.array(central(sentences, vectors, settings), np.int32)
    with context.writing() as w:
        return w.runs.add(
            kind=KIND,
            digest=digest,
            model_id=model.id,
            corpus_id=corpus.id,
            config=config,
            seconds=time.monotonic() - begun,
            assignments=labels,
        )


def _mean(context: JobContext, corpus: CorpusRecord, model: ModelRecord, report: Report) -> Any:
    total, count = np.zeros(0), 0
    for _, _, vectors in vectors_of_articles(context, corpus, model, report):
        if sparse.issparse(vectors):
            raise DataError(f"{model.name!r} has sparse vectors, which cannot be centred. Choose another model.")
        used = vectors[vectors.any(axis=1)]
        total = used.sum(axis=0, dtype=np.float64) + (total if len(total) else 0.0)
        count += len(used)
    return (total / max(count, 1)).astype(np.float32)


def text_digest(corpus: CorpusRecord) -> list[Any]:
    """Return the values that identify the text and topics of a stored corpus in a digest."""
    return [corpus.id, corpus.digest]
