"""Job kind: import a bundle. All digests are checked first; the corpus is visible once complete."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.config import option
from themescope.core.errors import Cancelled, DataError, ReadError
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.types import Article, Ids
from themescope.db.records import VectorBlock
from themescope.db.store import Unit
from themescope.jobs.bundles.labellings import LabellingDocument, from_lines, moved, store_document
from themescope.jobs.bundles.parts import (
    ARTICLES,
    BUNDLE,
    ERROR_NOTEBOOK,
    SELECTIONS,
    BundledCorpus,
    BundledModel,
    Contents,
    articles_from_lines,
    check_parts,
    contents,
    precision,
    vectors_from_bytes,
)
from themescope.jobs.bundles.selections import selections_from_lines, store_notebook, store_selection
from themescope.jobs.common.archive import ArchiveReader
from themescope.jobs.common.importing.columns import KeptColumns, find_types
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.results import TextDigest
from themescope.jobs.common.vectors import save_blocks
from themescope.jobs.kinds.import_corpus import CANCEL_S, batches, remove_unfinished

_BEGUN, _ADDED = "begun_corpus", "added_models"
"""Keys of notes in the job's row: the corpus begun by an attempt, and the models it added."""


@dataclass(frozen=True)
class ImportBundleConfig(JobConfig):
    """Arguments of importing a bundle."""

    file: str = option("", "Path of the bundle on the worker's machine.", file=True, required=True)
    corpus: str = option("", "Name of the new corpus; empty: the name in the bundle, numbered if taken.")

    def title(self) -> str:
        """Return a title with the file name."""
        return f"Import {Path(self.file).name}"


def import_bundle(args: ImportBundleConfig, context: JobContext) -> dict[str, Any]:
    """Check and store the bundle; leftovers of an interrupted attempt are removed first."""
    with ArchiveReader(Path(args.file), BUNDLE) as bundle:
        about = contents(bundle.about, Path(args.file))
        check_parts(bundle, about, Path(args.file))
        bundle.check(lambda share: context.progress(0.2 * share, 1, "Checking the file"))
        record = _open(args, context, about.corpus)
        if not record.ready:
            record = _fill(bundle, args, context, record, about)
    with context.store.reading() as r:
        models = [model.name for listed in about.models if (model := r.models.by_digest(listed.digest)) is not None]
    counts = {name: getattr(record, name) for name in ("articles", "sections", "paragraphs", "sentences")}
    labellings = len(about.labellings)
    return {"corpus": record.name, "corpus_id": record.id, **counts, "labellings": labellings, "models": models}


def _fill(
    bundle: ArchiveReader, args: ImportBundleConfig, context: JobContext, record: CorpusRecord, about: Contents
) -> CorpusRecord:
    try:
        _store_articles(bundle, args, context, record, about.corpus)
        _store_models(bundle, args, context, record, about.models)
        _store_labellings(bundle, context, record, about)
        _store_selections_and_notebook(bundle, context, record)
        with context.writing() as w:
            return w.corpora.finish(record.id, about.corpus.report)
    except Exception as error:
        _remove_import(context, record.id, CANCEL_S if isinstance(error, Cancelled) else math.inf)
        raise


def _open(args: ImportBundleConfig, context: JobContext, about: BundledCorpus) -> CorpusRecord:
    """Return an empty corpus, or the complete one of an earlier attempt; remove other leftovers."""
    with context.store.reading() as r:
        noted = r.jobs.get(context.job_id).result.get(_BEGUN)
        left = next((c for c in r.corpora.list(include_unready=True) if _note(c) == noted), None)
    if left is not None and left.ready:
        return left
    if left is not None:
        _remove_import(context, left.id)
    with context.writing() as w:
        record = w.corpora.create(args.corpus or w.corpora.usable_name(about.name), about.language)
        # In the same transaction, so that the next attempt finds the corpus if this one is killed.
        w.jobs.note(context.job_id, **{_BEGUN: _note(record)})
    return record


def _note(made: CorpusRecord | ModelRecord) -> str:
    """Return a value that distinguishes a corpus from a later one with the same id."""
    return f"{made.id} {made.created.isoformat()}"


def _remove_import(context: JobContext, corpus_id: int, seconds: float = math.inf) -> None:
    """Remove stored rows within ``seconds``; the worker's cleanup removes the rest."""
    with context.writing() as w:
        if not any(c.id == corpus_id and not c.ready for c in w.corpora.list(include_unready=True)):
            return
        w.corpora.abandon(corpus_id)
    remove_unfinished(context.store, corpus_id, seconds)
    with context.writing() as w:
        noted = _added(w, context.job_id)
        for model in w.models.list():
            if _note(model) in noted:
                w.models.delete(model.id)
        w.jobs.note(context.job_id, **{_ADDED: []})


def _added(unit: Unit, job_id: int) -> list[str]:
    """Return the notes of the models that this job has added."""
    return list(unit.jobs.get(job_id).result.get(_ADDED, ()))


def _store_articles(
    bundle: ArchiveReader, args: ImportBundleConfig, context: JobContext, record: CorpusRecord, about: BundledCorpus
) -> None:
    digest, report = TextDigest(record.language), context.part(0.2, 0.7, "Articles")
    done = 0

    def counted(found: Iterable[Article]) -> Iterator[Article]:
        for article in found:
            digest.add(article)
            yield article

    with closing(bundle.lines(ARTICLES)) as lines:
        kept = KeptColumns({})
        for batch in batches(kept(counted(articles_from_lines(lines, Path(args.file))))):
            with context.writing() as w:
                w.corpora.add_articles(record.id, batch)
            done += len(batch)
            report.progress(done, about.articles)
    if str(digest) != about.digest:
        raise ReadError(args.file, "its text does not match its digest.", advice="Export it again.")
    types = {(level, name): type for level, name, type in about.columns}
    find_types(context, record.id, lambda column: types.get((column.level, column.name), ""), report)


# --- labellings -------------------------------------------------------------------------------------------------------


def _store_labellings(bundle: ArchiveReader, context: JobContext, record: CorpusRecord, about: Contents) -> None:
    """Store the labellings with their people, steps and times, once all of them are checked.

    They come last, because people stay when an import is removed.
    """
    names = bundle.named("labellings/")
    report = context.part(0.95, 1.0, "Labellings")
    with context.store.reading() as r:
        ids = r.corpora.sentence_ids(record.id)
    checked = []
    for done, (name, listed) in enumerate(zip(names, about.labellings, strict=True)):
        report.progress(done, 2 * len(names))
        with closing(bundle.lines(name)) as lines:
            document = from_lines(lines, name)
        if (listed.name, listed.owner) != (document.about["name"], document.about["owner"]):
            raise DataError("A labelling of the bundle does not match its manifest. Export it again.")
        checked.append(_checked(context, document, ids))
    for done, (document, article_id) in enumerate(checked, len(names)):
        report.progress(done, 2 * len(names))
        with context.writing() as w:
            store_document(w, record.id, document, article_id)


def _store_selections_and_notebook(bundle: ArchiveReader, context: JobContext, record: CorpusRecord) -> None:
    """Store the named selections, and the error notebook of an older bundle as failures, with people and times."""
    with context.store.reading() as r:
        ids = r.corpora.sentence_ids(record.id)
    if bundle.named(SELECTIONS):
        with closing(bundle.lines(SELECTIONS)) as lines:
            selections = selections_from_lines(lines, len(ids), SELECTIONS)
        with context.writing() as w:
            for selection in selections:
                store_selection(w, record.id, selection, ids)
    if bundle.named(ERROR_NOTEBOOK):
        with closing(bundle.lines(ERROR_NOTEBOOK)) as lines:
            notebook = [*lines]
        with context.writing() as w:
            store_notebook(w, record, notebook, ids, ERROR_NOTEBOOK)


def _checked(context: JobContext, document: LabellingDocument, ids: Ids) -> tuple[LabellingDocument, int | None]:
    """Return a labelling with the ids of the stored sentences, and its article if it has only one."""
    start = document.start
    if len(start.ids) and (start.ids[0] < 0 or start.ids[-1] >= len(ids)):
        raise DataError("A labelling of the bundle refers to missing sentences. Export it again.")
    with context.store.reading() as r:
        sentences = r.corpora.sentences_by_id(ids[start.ids])
    if any(sentences[int(ids[place])].text != found.text for place, found in document.places.items()):
        raise DataError("The sentences of a labelling differ from those of the bundle. Export it again.")
    of = {s.article_id for s in sentences.values()}
    found = moved(document, {place: int(ids[place]) for place in document.places})
    return found, next(iter(of)) if len(of) == 1 else None


# --- models and vectors -----------------------------------------------------------------------------------------------


def _store_models(
    bundle: ArchiveReader,
    args: ImportBundleConfig,
    context: JobContext,
    record: CorpusRecord,
    about: Sequence[BundledModel],
) -> None:
    with context.store.reading() as r:
        known = r.corpora.get(record.id).articles
        embedded = [article for article in r.corpora.articles(record.id, limit=known) if article.sentences]
    sizes = np.array([article.sentences for article in embedded])
    ids = [article.id for article in embedded]
    large = int(sizes.sum()) >= context.store.settings.vector_files_from
    for place, listed in enumerate(about):
        report = context.part(0.7 + 0.25 * place / len(about), 0.7 + 0.25 * (place + 1) / len(about), listed.name)
        model = _model(bundle, args, context, listed, place)
        done = 0
        for name in bundle.named(f"vectors/{place:02d}/"):
            blocks = vectors_from_bytes(bundle.data(name), Path(args.file))
            if [b.shape[0] for b in blocks] != sizes[done : done + len(blocks)].tolist():
                raise ReadError(args.file, "its vectors do not match its sentences.", name, "Export it again.")
            found = [VectorBlock(id, block) for id, block in zip(ids[done:], blocks, strict=False)]
            if listed.revision == model.revision:  # a model must not have vectors of two revisions of its method
                save_blocks(context, model, found, precision(blocks), in_files=large)
            done += len(blocks)
            report.progress(done, len(ids))
        if done < len(ids):
            raise ReadError(args.file, f"its vectors of {listed.name!r} are incomplete.", advice="Export it again.")


def _model(
    bundle: ArchiveReader, args: ImportBundleConfig, context: JobContext, listed: BundledModel, place: int
) -> ModelRecord:
    """Return the stored model with the same files, else add it after loading it as a check."""
    from themescope.core.models.artifact import load_model

    with context.store.reading() as r:
        known = r.models.by_digest(listed.digest)
    if known is not None:
        return known
    prefix = f"models/{place:02d}/"

    def unpack(folder: Path) -> None:
        for name in bundle.named(prefix):
            bundle.copy(name, folder / name.removeprefix(prefix))
        if load_model(folder)[1]["method"] != listed.method:
            raise ReadError(
                args.file, f"its model {listed.name!r} was not made by {listed.method!r}.", advice="Export it again."
            )

    artifact = context.store.artifacts.put(unpack)
    with context.writing() as w:
        known = w.models.by_digest(listed.digest)
        if known is not None:
            return known
        values = {name: getattr(listed, name) for name in BundledModel.__dataclass_fields__}
        model = w.models.add(**{**values, "name": w.models.usable_name(listed.name), "artifact": artifact})
        w.jobs.note(context.job_id, **{_ADDED: [*_added(w, context.job_id), _note(model)]})
    return model
