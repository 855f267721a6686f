"""Job kinds: export and import a bundle, and export a dataset. An imported corpus is visible once complete."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.config import option
from themescope.core.errors import ArtifactError, Cancelled, ConfigError, DataError, ReadError
from themescope.core.paths import working_folder
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.types import Article, Matrix, Report
from themescope.db.records import VectorBlock
from themescope.db.repositories.corpus_edits import REMOVED_WAVES, WAVES
from themescope.db.store import Store, Unit
from themescope.jobs.bundles.labellings import export_document, from_lines, moved, numbered, store_document, to_lines
from themescope.jobs.bundles.parts import (
    ARTICLES,
    BUNDLE,
    ERROR_NOTEBOOK,
    SELECTIONS,
    BundledCorpus,
    BundledModel,
    Contents,
    article_of,
    article_to_line,
    articles_from_lines,
    bundled_selections,
    check_parts,
    contents,
    precision,
    selections_from_lines,
    store_notebook,
    store_selection,
    vectors_from_bytes,
    vectors_to_bytes,
)
from themescope.jobs.common.articles import TextDigest, code_version, ready_corpus
from themescope.jobs.common.columns import KeptColumns, find_types, with_values
from themescope.jobs.common.files import ArchiveReader, ArchiveWriter, check_new, check_target, made_file, whole
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
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
            try:
                _store_articles(bundle, args, context, record, about.corpus)
                _store_models(bundle, args, context, record, about.models)
                _store_labellings(bundle, context, record, about)
                _store_selections_and_notebook(bundle, context, record)
                with context.writing() as w:
                    record = w.corpora.finish(record.id, about.corpus.report)
            except Exception as error:
                _remove_import(context, record.id, CANCEL_S if isinstance(error, Cancelled) else math.inf)
                raise
    with context.store.reading() as r:
        models = [model.name for listed in about.models if (model := r.models.by_digest(listed.digest)) is not None]
    counts = {name: getattr(record, name) for name in ("articles", "sections", "paragraphs", "sentences")}
    labellings = len(about.labellings)
    return {"corpus": record.name, "corpus_id": record.id, **counts, "labellings": labellings, "models": models}


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
            raise DataError("A coding of the bundle does not match its manifest. Export it again.")
        start = document.start
        if len(start.ids) and (start.ids[0] < 0 or start.ids[-1] >= len(ids)):
            raise DataError("A coding of the bundle refers to missing sentences. Export it again.")
        with context.store.reading() as r:
            sentences = r.corpora.sentences_by_id(ids[start.ids])
        if any(sentences[int(ids[place])].text != found.text for place, found in document.places.items()):
            raise DataError("The sentences of a coding differ from those of the bundle. Export it again.")
        owners = {sentence.article_id for sentence in sentences.values()}
        document = moved(document, {place: int(ids[place]) for place in document.places})
        checked.append((document, next(iter(owners)) if len(owners) == 1 else None))
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


# Job kind: write a corpus with labellings, history and vectors to one file that another store imports

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
    target = Path(args.file) if args.file else made_file(store.settings.home / FOLDER)
    if args.file:
        check_new(target)
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


def _with_vectors(store: Store, corpus: CorpusRecord, name: str) -> ModelRecord:
    """Return a model that has vectors of the whole corpus."""
    model = find_model(store, name)
    with store.reading() as r:
        have = r.embeddings.have(model.id, corpus.id)
        wanted = {a.id for a in r.corpora.articles(corpus.id, limit=corpus.articles) if a.sentences}
    if not wanted <= have:
        raise DataError(
            f"{name!r} has vectors of {len(wanted & have):,} of {len(wanted):,} articles. Embed the project with it: "
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
        lines = (one.to_line() for one in bundled_selections(store, corpus.id, ids))
        # Write a part; without lines there is none, as in bundles of version 0.1.
        if found := [*lines]:
            with bundle.part(SELECTIONS) as write:
                for line in found:
                    write(line.encode("ascii"))
    for place, model in enumerate(models):
        share = 0.3 / len(models)
        report = context.part(0.7 + place * share, 0.7 + (place + 1) * share, f"Vectors of {model.name}")
        _write_model(bundle, store, model, place)
        for number, (done, blocks) in enumerate(_blocks(store, corpus, model)):
            with bundle.part(f"vectors/{place:02d}/{number:05d}.safetensors") as write:
                write(vectors_to_bytes(blocks))
            report.progress(done, corpus.articles)
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


def _write_model(bundle: ArchiveWriter, store: Store, model: ModelRecord, place: int) -> None:
    """Write the files of a model, which are regular files in one folder."""
    folder = store.artifacts.path(model.artifact)
    for file in sorted(folder.iterdir()):
        if not file.is_file() or file.is_symlink():
            raise ArtifactError(f"The model {model.name!r} contains {file.name!r}, which is not a regular file.")
        with bundle.part(f"models/{place:02d}/{file.name}") as write, file.open("rb") as stream:
            while piece := stream.read(1 << 20):
                write(piece)


def _blocks(store: Store, corpus: CorpusRecord, model: ModelRecord) -> Iterator[tuple[int, list[Matrix]]]:
    """Yield (articles done, vectors of the next articles), about ``_PIECE_ROWS`` sentences, in order of articles."""
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
                    f"The vectors of {model.name!r} were deleted during the export. Embed the project again."
                )
            yield done, [found[id] for id in batch]
            batch, rows = [], 0


# Job kinds: write a corpus as a Hugging Face dataset (a folder, or a ZIP file of it), and back up the store

DATASETS = "datasets"
"""Folder of the ZIP files exported from pages, in the data folder."""


@dataclass(frozen=True)
class ExportDatasetConfig(JobConfig):
    """Arguments of an export."""

    TITLE = "Export the dataset of “{corpus}”"

    corpus: str = option("", "Name of the corpus.", required=True)
    folder: str = option(
        "",
        "Folder to write, which must not exist, on the worker's machine; empty: a ZIP file in the data folder.",
        file=True,
    )
    labelling: str = option("", "Name of the labelling whose clusters become labels; empty: none.")
    themes: bool = option(False, "Use the newest themes of the corpus as labels.")

    def validate(self) -> None:
        """Check that there is at most one source of labels."""
        if self.labelling and self.themes:
            raise ConfigError("Labels come from a coding or from themes, not from both.")


def export_dataset(args: ExportDatasetConfig, context: JobContext) -> dict[str, Any]:
    """Write to a temporary folder and move it into place."""
    from themescope.jobs.datasets import labels_of, write_dataset

    store = context.store
    corpus = ready_corpus(store, args.corpus)
    labels = labels_of(store, corpus, args.labelling, args.themes)
    target = Path(args.folder) if args.folder else made_file(store.settings.home / DATASETS)
    if args.folder:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise DataError(f"{str(target)!r} exists and is not an empty folder. Choose a new one.")
        if not target.is_dir():
            check_target(target)
    with working_folder(target.parent, f".{target.name}.") as folder:
        folder.chmod(0o755)
        counts = write_dataset(store, corpus, labels, folder, context)
        with store.reading() as r:
            r.corpora.get(corpus.id)  # raises an error if it was deleted meanwhile: articles may be missing
        if args.folder:
            os.replace(folder, target)
        else:
            # Parquet is compressed.
            with whole(target) as partial, zipfile.ZipFile(partial, "x", zipfile.ZIP_STORED) as archive:
                for file in sorted(folder.rglob("*")):
                    if file.is_file():
                        archive.write(file, file.relative_to(folder).as_posix())
    sizes = {str(split): rows for split, rows in counts.items()}
    return {"file": str(target), "corpus": corpus.name, "sentences": sum(counts.values()), "splits": sizes}
