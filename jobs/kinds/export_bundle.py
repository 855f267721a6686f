"""Job kind: write a corpus with labellings, history and vectors to one file that another store imports.

Sentences are numbered by their position in the corpus and steps by their position in the history, so the same content
gives the same bytes, independent of the ids in the store.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.config import option
from themescope.core.errors import ArtifactError, DataError
from themescope.core.protocols import Report
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.types import Matrix
from themescope.db.repositories.corpus_edits import REMOVED_WAVES, WAVES
from themescope.db.store import Store, Unit
from themescope.jobs.bundles.labellings import export_document, moved, numbered, to_lines
from themescope.jobs.bundles.parts import (
    ARTICLES,
    BUNDLE,
    SELECTIONS,
    BundledModel,
    article_of,
    article_to_line,
    vectors_to_bytes,
)
from themescope.jobs.bundles.selections import bundled_selections
from themescope.jobs.common.archive import ArchiveReader, ArchiveWriter
from themescope.jobs.common.articles import ready_corpus
from themescope.jobs.common.files import check_new, made_file, whole
from themescope.jobs.common.importing.columns import with_values
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.results import TextDigest, code_version

FOLDER = "bundles"
"""Folder of the bundles exported from pages, in the data folder."""
_PIECE_ROWS = 20_000
_CORPUS = ("name", "language", "report", "articles", "sections", "paragraphs", "sentences")


@dataclass(frozen=True)
class ExportBundleConfig(JobConfig):
    """Arguments of an export."""

    TITLE = "Export the bundle of “{corpus}”"

    corpus: str = option("", "Name of the corpus.", required=True)
    file: str = option(
        "", "Path of the file to write, on the worker's machine; empty: a file in the data folder.", file=True
    )
    labellings: bool = option(True, "Include labellings with people and history, and named selections.")
    models: tuple[str, ...] = option((), "Names of models to include, with their vectors of the corpus.")


def export_bundle(args: ExportBundleConfig, context: JobContext) -> dict[str, Any]:
    """Write to a temporary file and move it into place."""
    store = context.store
    corpus = ready_corpus(store, args.corpus)
    models = [_with_vectors(store, corpus, name) for name in dict.fromkeys(args.models)]
    target = _target(store, args.file)
    with whole(target) as partial:
        with ArchiveWriter(partial, BUNDLE) as bundle:
            about = _write(bundle, store, corpus, args.labellings, models, context)
            bundle.close(about)
        with store.reading() as r:
            r.corpora.get(corpus.id)  # raises an error if it was deleted meanwhile: labellings may be missing
        with ArchiveReader(partial, BUNDLE):
            pass
    counts = {"articles": corpus.articles, "sentences": corpus.sentences, "labellings": len(about["labellings"])}
    return {"file": str(target), "corpus": corpus.name, "bytes": target.stat().st_size, **counts}


def _target(store: Store, file: str) -> Path:
    if file:
        target = Path(file)
        check_new(target)
        return target
    return made_file(store.settings.home / FOLDER, ".zip")


def _with_vectors(store: Store, corpus: CorpusRecord, name: str) -> ModelRecord:
    """Return a model that has vectors of the whole corpus."""
    model = find_model(store, name)
    with store.reading() as r:
        have = r.embeddings.have(model.id, corpus.id)
        wanted = {a.id for a in r.corpora.articles(corpus.id, limit=corpus.articles) if a.sentences}
    if not wanted <= have:
        raise DataError(
            f"{name!r} has vectors of {len(wanted & have):,} of {len(wanted):,} articles. Embed the corpus with it: "
            f"themescope embed {corpus.name!r} --method {name!r}"
        )
    return model


def _write(
    bundle: ArchiveWriter,
    store: Store,
    corpus: CorpusRecord,
    labellings: bool,
    models: list[ModelRecord],
    context: JobContext,
) -> dict[str, Any]:
    """Write every part; return their description for the manifest."""
    with store.reading() as r:
        columns = [[column.level, column.name, column.type] for column in r.columns.list(corpus.id)]
        moved_to = _new_place(r, corpus)
    about = {name: getattr(corpus, name) for name in _CORPUS}
    waves = {WAVES: [wave | {"first": moved_to(wave["first"])} for wave in corpus.report.get(WAVES, ())]}
    about["report"] = {k: v for k, v in {**corpus.report, **waves}.items() if k != REMOVED_WAVES and (v or k != WAVES)}
    digest = _write_articles(bundle, store, corpus, context.part(0.0, 0.5, "Articles"))
    named = _write_labellings(bundle, store, corpus, context.part(0.5, 0.7, "Labellings")) if labellings else []
    if labellings:
        with store.reading() as r:
            ids = r.corpora.sentence_ids(corpus.id)
        _write_lines(bundle, SELECTIONS, (one.to_line() for one in bundled_selections(store, corpus.id, ids)))
    for place, model in enumerate(models):
        share = 0.3 / len(models)
        report = context.part(0.7 + place * share, 0.7 + (place + 1) * share, f"Vectors of {model.name}")
        _write_model(bundle, store, model, place)
        _write_vectors(bundle, store, corpus, model, place, report)
    return {
        "made_by": f"themescope {code_version()}",
        "corpus": about | {"digest": str(digest), "columns": columns},
        "labellings": named,
        "models": [{name: getattr(model, name) for name in BundledModel.__dataclass_fields__} for model in models],
    }


def _write_articles(bundle: ArchiveWriter, store: Store, corpus: CorpusRecord, report: Report) -> TextDigest:
    digest, done = TextDigest(corpus.language), 0
    with bundle.part(ARTICLES) as write, store.reading() as r:
        for stored, values, sentence_values in with_values(r, corpus.id):
            article = article_of(*stored, values, sentence_values)
            digest.add(article)
            write(article_to_line(article))
            done += 1
            report.progress(done, corpus.articles)
    return digest


def _write_labellings(
    bundle: ArchiveWriter, store: Store, corpus: CorpusRecord, report: Report
) -> list[dict[str, Any]]:
    """Write one part per labelling, oldest first; return their names as of the export."""
    named = []
    with store.reading() as r:
        found = r.labellings.list(corpus.id)
        ids = r.corpora.sentence_ids(corpus.id)
        moved_to = _new_place(r, corpus)
    places = {int(id): place for place, id in enumerate(ids)}
    for number, record in enumerate(found):
        report.progress(number, len(found), record.name)
        document = export_document(store, record.id)
        document = numbered(moved(document, {id: places[id] for id in document.places}))
        if sample := document.about["origin"].get("sample"):
            document.about["origin"]["sample"] = {**sample, "articles": moved_to(sample["articles"])}
        named.append({name: str(document.about[name]) for name in ("name", "owner")})
        with bundle.part(f"labellings/{number:04d}.jsonl") as write:
            for line in to_lines(document):
                write(line.encode("ascii"))
    return named


def _new_place(r: Unit, corpus: CorpusRecord) -> Callable[[int], int]:
    """Return what gives the position of an article that the bundle has: removed ones are not in it."""
    articles = r.corpora.articles_by_id(r.corpora.article_ids(corpus.id)).values()
    places = np.sort([article.position for article in articles])
    return lambda place: int(np.searchsorted(places, place))


def _write_lines(bundle: ArchiveWriter, part: str, lines: Iterable[str]) -> None:
    """Write a part; without lines there is none, as in bundles of version 0.1."""
    if found := [*lines]:
        with bundle.part(part) as write:
            for line in found:
                write(line.encode("ascii"))


def _write_model(bundle: ArchiveWriter, store: Store, model: ModelRecord, place: int) -> None:
    """Write the files of a model, which are regular files in one folder."""
    folder = store.artifacts.path(model.artifact)
    for file in sorted(folder.iterdir()):
        if not file.is_file() or file.is_symlink():
            raise ArtifactError(f"The model {model.name!r} contains {file.name!r}, which is not a regular file.")
        with bundle.part(f"models/{place:02d}/{file.name}") as write, file.open("rb") as stream:
            shutil.copyfileobj(stream, _Sink(write))


@dataclass(frozen=True, slots=True)
class _Sink:
    """Writable file object around a function that writes bytes."""

    write: Callable[[bytes], None]


def _write_vectors(
    bundle: ArchiveWriter, store: Store, corpus: CorpusRecord, model: ModelRecord, place: int, report: Report
) -> None:
    """Write vectors in parts of about ``_PIECE_ROWS`` sentences, in order of articles."""
    for number, (done, blocks) in enumerate(_blocks(store, corpus, model)):
        with bundle.part(f"vectors/{place:02d}/{number:05d}.safetensors") as write:
            write(vectors_to_bytes(blocks))
        report.progress(done, corpus.articles)


def _blocks(store: Store, corpus: CorpusRecord, model: ModelRecord) -> Iterator[tuple[int, list[Matrix]]]:
    """Yield (articles done, vectors of the next articles)."""
    with store.reading() as r:
        listed = [a for a in r.corpora.articles(corpus.id, limit=corpus.articles) if a.sentences]
    batch: list[int] = []
    rows = 0
    for done, article in enumerate(listed, 1):
        batch.append(article.id)
        rows += article.sentences
        if rows >= _PIECE_ROWS or done == len(listed):
            with store.reading() as r:
                found = r.embeddings.get(model.id, batch)
            if len(found) < len(batch):
                raise DataError(
                    f"The vectors of {model.name!r} were deleted during the export. Embed the corpus again."
                )
            yield done, [found[id] for id in batch]
            batch, rows = [], 0
