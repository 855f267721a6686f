"""Job kinds of models: fit a method and store the model, or add a saved one. The same fit is not repeated."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from themescope.core.config import Config, option
from themescope.core.errors import ArtifactError, ConfigError, DataError, ReadError
from themescope.core.models import REGISTRY as METHODS
from themescope.core.paths import working_folder
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.registry import Card
from themescope.core.text.word_vectors import REGISTRY as WORD_TABLES
from themescope.core.types import Corpus, Model, Split
from themescope.db.records import TripletSetRecord
from themescope.db.store import Store
from themescope.jobs.common.articles import (
    SectionSentences,
    StoredSentences,
    TrainingSentences,
    code_version,
    file_digest,
    ready_corpus,
    titles_of,
    work_digest,
)
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import add_model, find_model, renamed
from themescope.jobs.common.vectors import load_model, method_of
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.kinds.import_corpus import text_key


@dataclass(frozen=True)
class TrainConfig(JobConfig):
    """Arguments of a training."""

    method: str = option("", "Id of the method to fit.", required=True)
    name: str = option("", "Name of the new model.", required=True)
    triplets: str = option(
        "", "Triplet set to train on, for methods that need triplets; commands also take a table of your own."
    )
    corpus: str = option("", "Corpus to train on, for methods that use running text or sections.")
    settings: Mapping[str, Any] = option({}, "Settings of the method.")
    seed: int = option(0, "Random seed.", low=0)
    files: tuple[str, ...] = option(
        (), "CSV files of training and validation triplets, instead of a triplet set.", file=True
    )
    models: tuple[str, ...] = option((), "Names of the components, submodels, base models or the teacher, in order.")
    everything: bool = option(
        False,
        "Train on the running text of all articles, including test articles, as methods with a vector per "
        "sentence always do.",
    )
    validation: str = option(
        "", "Another triplet set, whose validation triplets decide early stopping; empty: those of the set itself."
    )
    without: tuple[str, ...] = option(
        (), "Corpora whose articles are left out, for methods that use sections, such as the corpus of a demo."
    )
    keep_start: bool = option(
        False, "Store a model that learned nothing, too, as the tables of the papers do, which show its score."
    )

    def validate(self) -> None:
        """Check the method, its settings and its data."""
        METHODS.configure(self.method, self.settings)
        if len(self.files) not in (0, 2) or (self.files and self.triplets):
            raise ConfigError("Choose a triplet set, or two CSV files: training triplets and validation triplets.")
        if "needs-triplets" in METHODS.get(self.method).tags and not (self.triplets or self.files):
            raise ConfigError(f"{self.method!r} is trained on triplets. Choose a triplet set.")
        if self.validation and not self.triplets:
            raise ConfigError("Validation triplets of another set need a triplet set to train on. Choose one.")
        if "needs-sections" in METHODS.get(self.method).tags and not self.corpus:
            raise ConfigError(f"{self.method!r} is trained on the sections of articles. Choose a corpus.")
        if "needs-models" in METHODS.get(self.method).tags and not self.models:
            raise ConfigError(f"{self.method!r} is made from fitted models. Choose them.")

    def file_names(self) -> list[str]:
        """Return the files of triplets, and those that the settings of the method name."""
        return super().file_names() + METHODS.configure(self.method, self.settings).file_names()

    def title(self) -> str:
        """Return a title with method, data and model."""
        source = self.triplets or self.corpus or ", ".join(Path(file).name for file in self.files)
        return f"Train “{self.name}” ({self.method})" + (f" on “{source}”" if source else "")


_READS_MODELS = {"needs-models", "accepts-base-model", "accepts-teacher"}
"""Tags of methods that use fitted models."""


@dataclass(frozen=True)
class _Data:
    corpus: CorpusRecord | None
    triplets: TripletSetRecord | None
    files: tuple[Path, ...] = ()
    models: tuple[ModelRecord, ...] = ()
    everything: bool = False
    validation: TripletSetRecord | None = None
    """Other triplet set that provides the validation triplets, if any."""
    without: tuple[CorpusRecord, ...] = ()
    """Corpora whose articles are left out where sections are used."""

    def digest(self, card: Card) -> list[str]:
        """Return the digest of all inputs that affect the result."""
        used = self.models if card.tags & _READS_MODELS else ()
        models = ["models", *(model.digest for model in used)] if used else []
        return [*models, *self._source(card)]

    @property
    def splits(self) -> list[tuple[Split, TripletSetRecord]]:
        """Return the training and validation triplets; the test split is never read."""
        if self.triplets is None:
            return []
        return [(Split.TRAIN, self.triplets), (Split.VALIDATION, self.validation or self.triplets)]

    def _source(self, card: Card) -> list[str]:
        if "needs-triplets" in card.tags and self.files:
            return ["files", *map(file_digest, self.files)]
        if "needs-triplets" in card.tags and self.triplets is not None:
            other = ["validation", self.validation.digest] if self.validation is not None else []
            return ["triplets", self.triplets.digest, *other]
        if "needs-sections" in card.tags and self.corpus is not None:
            return ["sections", *text_key(self.corpus), *(part for other in self.without for part in text_key(other))]
        if "needs-sentences" in card.tags and self.corpus is not None:
            whole = ["everything"] if self.everything else []
            return ["corpus", *text_key(self.corpus), *whole]
        return []


def train(args: TrainConfig, context: JobContext) -> dict[str, Any]:
    """Fit the method and store artifact and model. A stored model with the same digest is returned."""
    from themescope.core.models.artifact import title_digests
    from themescope.core.models.base import require_learned

    store = context.store
    card, config, data, digest = _plan(store, args)
    with store.reading() as r:
        existing = r.models.by_digest(digest)
    if existing is not None:
        return _result(existing, cached=True)
    context.progress(0, 1, "Reading the data")
    corpus, record = _load_data(store, card, data)
    fitted: Model = METHODS.build(args.method, config, seed=args.seed)
    # Delete the checkpoint if an older revision of the code wrote it.
    marker = context.checkpoint_folder() / "digest.txt"
    if marker.is_file() and marker.read_text(encoding="ascii") != digest:
        shutil.rmtree(marker.parent)
        context.checkpoint_folder()
    marker.write_text(digest, encoding="ascii")
    begun = time.monotonic()
    fitted.fit(corpus, context.part(0.0, 0.98))
    # If the method has no metrics of its own, the last points of its curves are stored.
    metrics = dict(getattr(fitted, "metrics", None) or {name: p.value for name, p in context.last.items()})
    if not args.keep_start:
        require_learned(metrics)
    metrics["seconds"] = round(time.monotonic() - begun, 1)
    seen = title_digests(_titles(store, card, data, corpus))
    record["train_titles"] = sorted({*seen, *record.pop("joined_titles", ())})
    context.progress(0.98, 1, "Saving the model")
    # A fine-tuned network takes some of its settings from the base model.
    made = _Made(args, getattr(fitted, "config", config), data, digest, metrics, record)
    kept = _keep(context, fitted, made)
    return {**_result(kept, cached=False), **renamed(args.name, kept.name)}


def _plan(store: Store, args: TrainConfig) -> tuple[Card, Config, _Data, str]:
    card, config = METHODS.get(args.method), METHODS.configure(args.method, args.settings)
    everything = args.everything or "transductive" in card.tags
    with store.reading() as r:
        triplets, validation = (r.triplets.by_name(name) if name else None for name in (args.triplets, args.validation))
        for record in (triplets, validation):
            if record is not None and not record.ready:
                raise DataError(f"Triplet set {record.name!r} is still being sampled. Wait for its job to end.")
        if args.corpus or triplets is None:
            corpus = ready_corpus(store, args.corpus) if args.corpus else None
        else:
            corpus = r.corpora.get(triplets.corpus_id)
    models = tuple(find_model(store, name) for name in args.models)
    for file in args.files:
        if not Path(file).is_file():
            raise ReadError(file, "this file does not exist.")
    if validation == triplets:
        validation = None
    without = tuple(ready_corpus(store, name) for name in args.without)
    data = _Data(corpus, triplets, tuple(map(Path, args.files)), models, everything, validation, without)
    lists = (value if isinstance(value, list) else [value] for value in config.to_dict().values())
    named = [value for values in lists for value in values if isinstance(value, str) and value in WORD_TABLES]
    cards = KINDS.get("train"), card, *map(method_of, data.models), *map(WORD_TABLES.get, named)
    digest = work_digest(*cards, config=config.result_settings(), data=data.digest(card), seed=args.seed)
    return card, config, data, digest


def _load_data(store: Store, card: Card, data: _Data) -> tuple[Corpus, dict[str, Any]]:
    from themescope.core.triplets.sample import read_triplets

    record: dict[str, Any] = {"code": code_version(), "revision": card.revision}
    parts: dict[str, Any] = {}
    if "needs-triplets" in card.tags and data.files:
        splits = zip((Split.TRAIN, Split.VALIDATION), data.files, strict=True)
        parts["triplets"] = {split: read_triplets(path) for split, path in splits}
        record |= {"triplets": [path.name for path in data.files], "triplets_digest": data.digest(card)[1:]}
    elif "needs-triplets" in card.tags and data.triplets is not None:
        with store.reading() as r:
            parts["triplets"] = {split: r.triplets.texts(given.id, split) for split, given in data.splits}
        record |= {"triplets": data.triplets.name, "triplets_digest": data.triplets.digest}
        record["rules"] = dict(data.triplets.config)
        record |= {"validation": data.validation.name} if data.validation else {}
    if card.tags & _READS_MODELS and data.models:
        fitted, infos = zip(*(load_model(store, model) for model in data.models), strict=True)
        parts["models"] = fitted
        record["models"] = [model.digest for model in data.models]
        record["joined_titles"] = {title for info in infos for title in info["record"].get("train_titles", ())}
    if "needs-sentences" in card.tags and data.corpus is not None:
        parts["sentences"] = TrainingSentences(store, data.corpus, data.everything)
    if "needs-sections" in card.tags and data.corpus is not None:
        left_out = titles_of(store, [other.name for other in data.without])
        parts["sections"] = {
            split: SectionSentences(store, data.corpus, split, left_out) for split in (Split.TRAIN, Split.VALIDATION)
        }
        record |= {"without": [corpus.name for corpus in data.without]} if data.without else {}
    if data.corpus is not None:
        record |= {"corpus": data.corpus.name, "corpus_digest": data.corpus.digest}
        parts |= {"name": data.corpus.name, "language": data.corpus.language}
    return Corpus(**parts), record


def _titles(store: Store, card: Card, data: _Data, corpus: Corpus) -> list[str]:
    read = (corpus.sentences, *corpus.sections.values())
    titles = [title for part in read if isinstance(part, StoredSentences) for title in part.titles]
    if "needs-triplets" in card.tags:
        with store.reading() as r:
            rows = [r.triplets.rows(given.id, split) for split, given in data.splits]
            ids = {int(i) for part in rows for i in part.articles}
            titles += [article.title for article in r.corpora.articles_by_id(ids).values()]
    return titles


@dataclass(frozen=True)
class _Made:
    args: TrainConfig
    config: Config
    data: _Data
    digest: str
    metrics: Mapping[str, float]
    record: dict[str, Any]


def _keep(context: JobContext, fitted: Model, made: _Made) -> ModelRecord:
    from themescope.core.models.artifact import save_model

    def write(folder: Path) -> None:
        save_model(fitted, made.args.method, folder, {**made.record, "metrics": dict(made.metrics)})

    artifact = context.store.artifacts.put(write)
    with context.writing() as w:
        return w.models.add(
            name=w.models.usable_name(made.args.name),
            method=made.args.method,
            config=made.config.to_dict(),
            seed=made.args.seed,
            digest=made.digest,
            corpus_id=made.data.corpus.id if made.data.corpus else None,
            triplet_set_id=made.data.triplets.id if made.data.triplets else None,
            metrics=made.metrics,
            artifact=artifact,
            revision=METHODS.get(made.args.method).revision,
        )


def _result(record: ModelRecord, cached: bool) -> dict[str, Any]:
    about = {"model": record.name, "model_id": record.id, "digest": record.digest, "cached": cached}
    return about | {"metrics": dict(record.metrics)}


@dataclass(frozen=True)
class AddModelConfig(JobConfig):
    """Arguments of adding a model."""

    TITLE = "Add model “{name}”"

    folder: str = option(
        "",
        "Folder of the saved model, or of a sentence-transformers encoder, on the worker's machine.",
        file=True,
        required=True,
    )
    name: str = option("", "Name of the model in the store.", required=True)


def add_saved_model(args: AddModelConfig, context: JobContext) -> dict[str, Any]:
    """Load the folder to check it, and add the model to the store unless the same files are stored already."""
    from themescope.core.models.artifact import is_foreign, load_model, save_foreign

    source = Path(args.folder)
    if not source.is_dir():
        raise ArtifactError(
            f"The folder {args.folder!r} does not exist. Choose the folder with the model's model.json, or of a "
            "sentence-transformers encoder."
        )
    if is_foreign(source):
        with working_folder(None) as folder:
            return _added(args, context, folder, save_foreign(source, folder, context.part(0.0, 0.9)))
    context.progress(0, 1, "Checking the model")
    return _added(args, context, source, load_model(source)[1])


def _added(args: AddModelConfig, context: JobContext, folder: Path, info: dict[str, Any]) -> dict[str, Any]:
    context.progress(0.9, 1, "Adding the model")
    record, cached = add_model(context.store, folder, args.name, info, context.writing)
    message = {} if cached else renamed(args.name, record.name)
    return {"model": record.name, "model_id": record.id, "digest": record.digest, "cached": cached, **message}
