"""Job kind: place a wave. Its sentences get vectors, positions on maps, predicted codes and themes.

Nothing that is stored changes: the positions are added behind those of a map, and the codes of the sentences are stored
as predictions of the wave, beside the labels and beside the predictions of the rest of a labelling. The report of such
predictions has ``unusual``, the sentences that fit no code, and ``candidates``, the new themes among them with a name
and their sentences, the central one first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.config import option
from themescope.core.errors import DataError, UnknownNameError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.records.stored import ArticleRecord, CorpusRecord, LabellingRecord, MapRecord, ModelRecord
from themescope.core.types import Ids, Matrix
from themescope.db.records import MapPoints
from themescope.db.store import Store
from themescope.jobs.common.articles import ready_corpus
from themescope.jobs.common.importing.waves import waves_of
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.labelled.clusterings import LabelledText, models_to_compare
from themescope.jobs.common.results import work_digest
from themescope.jobs.common.vectors import embed_articles
from themescope.jobs.kinds import REGISTRY as KINDS

if TYPE_CHECKING:
    from themescope.core.tasks.waves import Assigned

KIND = "place-wave"
_KNOWN = 20_000
"""Maximum number of sentences with codes that the codes' centres are computed from, shared evenly among the codes."""
_OLD = 10_000
"""Maximum number of earlier sentences that new themes are compared with."""
_WORDS = 3


@dataclass(frozen=True)
class PlaceWaveConfig(JobConfig):
    """Arguments of placing a wave."""

    corpus: str = option("", "Name of the corpus.", required=True)
    wave: str = option("", "Name of the wave; empty: the newest.")
    seed: int = option(0, "Seed of samples and layouts.", low=0)

    def title(self) -> str:
        """Return a title with the wave and the corpus."""
        return f"Place “{self.wave}” in “{self.corpus}”" if self.wave else f"Place the newest wave of “{self.corpus}”"


def place_wave(args: PlaceWaveConfig, context: JobContext) -> dict[str, Any]:
    """Embed the sentences of a wave, add them to the maps, and predict their codes in the labellings."""
    begun, store = time.monotonic(), context.store
    corpus = ready_corpus(store, args.corpus)
    wave, articles = _wave(store, corpus, args.wave)
    placing = _Placing(context, corpus, wave, articles, _sentences(store, articles), args.seed)
    models = placing.models()
    embedded = sum(
        embed_articles(context, model, articles, context.part(0.5 * i / len(models), 0.5 * (i + 1) / len(models)))
        for i, model in enumerate(models)
    )
    context.progress(0.5, 1, "Placing on the maps")
    maps = placing.on_maps()
    labellings, left = placing.in_labellings()
    return {
        "corpus": corpus.name, "corpus_id": corpus.id, "wave": wave["name"], "sentences": len(placing.ids),
        "models": [model.name for model in models], "embedded": embedded, "maps": maps, "labellings": labellings,
        "left_out": left, "seconds": round(time.monotonic() - begun, 2),
    }  # fmt: skip


def _wave(store: Store, corpus: CorpusRecord, name: str) -> tuple[dict[str, Any], list[ArticleRecord]]:
    """Return a wave that was added to a corpus, by default the newest, with its articles that have sentences."""
    waves = waves_of(corpus)[1:]
    if not waves:
        raise DataError(f"No wave was added to “{corpus.name}”. Add files to it first.")
    wave = next((wave for wave in reversed(waves) if name in ("", wave["name"])), None)
    if wave is None:
        raise UnknownNameError("wave", name, [wave["name"] for wave in waves])
    with store.reading() as r:
        articles = r.corpora.articles(corpus.id, offset=wave["first"], limit=wave["articles"])
    return wave, [article for article in articles if article.sentences]


def _sentences(store: Store, articles: Sequence[ArticleRecord]) -> Ids:
    with store.reading() as r:
        found = r.corpora.sentences_of([article.id for article in articles])
    return np.array(sorted(sentence.id for part in found.values() for sentence in part), np.int64)


@dataclass(frozen=True)
class _Placing:
    """The sentences of a wave and where they are placed."""

    context: JobContext
    corpus: CorpusRecord
    wave: dict[str, Any]
    articles: Sequence[ArticleRecord]
    ids: Ids
    """(n,) ascending ids of the sentences of the wave."""
    seed: int

    def models(self) -> list[ModelRecord]:
        """Return the models with vectors of all earlier sentences, and those of the maps of the whole corpus."""
        with self.context.store.reading() as r:
            before = r.corpora.articles(self.corpus.id, limit=self.wave["first"])
            old = {article.id for article in before if article.sentences}
            mapped = {record.model_id for record in r.maps.list(self.corpus.id) if not record.config["articles"]}
            return [m for m in r.models.list() if m.id in mapped or old <= r.embeddings.have(m.id, self.corpus.id)]

    # --- maps ---------------------------------------------------------------------------------------------------------

    def on_maps(self) -> list[dict[str, Any]]:
        """Add the sentences to each map of the whole corpus; return name and number of new points of each."""
        with self.context.store.reading() as r:
            maps = [record for record in r.maps.list(self.corpus.id) if not record.config["articles"]]
            models = {model.id: model for model in r.models.list()}
        return [
            {"map": record.name, "map_id": record.id, "points": self._on_map(record, models[record.model_id])}
            for record in maps
        ]

    def _on_map(self, record: MapRecord, model: ModelRecord) -> int:
        """Place the sentences that a map lacks by the transform of UMAP, and return their number.

        The fitted projection follows from the stored vectors and positions of its sentences. A map that shows a sample
        of the corpus gets a sample of the wave at the same rate, or else the wave would look denser than it is.
        """
        from themescope.core.projection.maps import SHARD, FittedMap, UmapConfig, sample

        store = self.context.store
        with store.reading() as r:
            known = r.maps.points(record.id)
        rate = len(known.sentence_ids) / max(record.sampled_from, 1)
        lacking = self.ids[~np.isin(self.ids, known.sentence_ids)]
        new = lacking[sample(len(lacking), max(round(rate * len(self.ids)), 1), record.seed)]
        if len(lacking) < len(self.ids) or not len(new):  # placed before
            return 0
        names = UmapConfig.__dataclass_fields__
        config = UmapConfig(**{name: value for name, value in record.config.items() if name in names})
        marks = sample(len(known.sentence_ids), config.landmarks, record.seed)
        vectors = LabelledText(store, known.sentence_ids[marks]).vectors(model.name)
        fitted = FittedMap.of_points(vectors, known.points[marks], config, record.seed)
        wave = LabelledText(store, new).vectors(model.name)
        starts = range(0, len(new), SHARD)
        points = np.concatenate([fitted((len(known.points) + at, wave[at : at + SHARD])) for at in starts])
        digest = work_digest(KINDS.get(KIND), map=record.digest, wave=self.wave["added"])
        with self.context.writing() as w:
            w.maps.extend(record.id, digest, MapPoints(new, points), len(self.ids))
        return len(new)

    # --- labellings ---------------------------------------------------------------------------------------------------

    def in_labellings(self) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Store predictions in each labelling of the whole corpus; return them in short, and why others have none."""
        with self.context.store.reading() as r:
            records = [record for record in r.labellings.list(self.corpus.id) if record.article_id is None]
        found, left = list[dict[str, Any]](), dict[str, str]()
        for place, record in enumerate(records):
            self.context.progress(0.6 + 0.4 * place / len(records), 1, f"Predicting codes in “{record.name}”")
            if record.blind:
                left[record.name] = "Blind labellings use no predictions."
                continue
            try:
                found.append(self._in_labelling(record))
            except DataError as error:  # too few codes or vectors: the other labellings do not depend on it
                left[record.name] = str(error)
        return found, left

    def _in_labelling(self, record: LabellingRecord) -> dict[str, Any]:
        from themescope.core.tasks.waves import TOO_FEW, ThemeCentres

        store, random = self.context.store, np.random.default_rng(self.seed)
        model = models_to_compare(store, record, [])[0]
        with store.reading() as r:
            snapshot = r.labellings.snapshot(record.id)
        partition = snapshot.partition
        coded = partition.numbers != UNASSIGNED
        wave = np.setdiff1d(self.ids, partition.ids[coded])
        if not len(wave):
            raise DataError("All sentences of the wave have codes.")
        if not coded.any():
            raise DataError(TOO_FEW)
        rows = _evenly(partition.numbers, random, _KNOWN)
        known = LabelledText(store, partition.ids[rows])
        found = LabelledText(store, wave)
        vectors = found.vectors(model.name)
        assigned = ThemeCentres(known.vectors(model.name), partition.numbers[rows]).assign(vectors)
        others = np.setdiff1d(partition.ids, wave)
        old = np.sort(random.permutation(others)[:_OLD])
        candidates = _candidates(found, vectors, LabelledText(store, old).vectors(model.name), assigned, self.seed)
        report = {"unusual": wave[assigned.unusual].tolist(), "candidates": candidates}
        with self.context.writing() as w:
            w.predictions.replace(
                record.id, wave=self.wave["name"], model=model.name, step=snapshot.step, labels=len(rows),
                codes=assigned.themes, report=report, ids=wave, probabilities=assigned.probabilities,
            )  # fmt: skip
        return {
            "labelling": record.name, "labelling_id": record.id, "model": model.name, "predicted": len(wave),
            "unusual": len(report["unusual"]),
            "candidates": [{"name": one["name"], "sentences": len(one["sentences"])} for one in candidates],
        }  # fmt: skip


def _evenly(numbers: Ids, random: np.random.Generator, most: int) -> Ids:
    """Return ascending rows with a cluster: at most ``most``, of each cluster the same number if it has so many."""
    rows = random.permutation(np.flatnonzero(numbers != UNASSIGNED))
    order = np.argsort(numbers[rows], kind="stable")
    _, starts, sizes = np.unique(numbers[rows][order], return_index=True, return_counts=True)
    rank = np.arange(len(rows)) - np.repeat(starts, sizes)
    by_rank = np.argsort(rank, kind="stable")[:most]
    return np.sort(rows[order][by_rank])


def _candidates(
    found: LabelledText, vectors: Matrix, old: Matrix, assigned: Assigned, seed: int
) -> list[dict[str, Any]]:
    """Return name, sentences and number of earlier sentences nearby of each new theme, the clearest one first."""
    from themescope.core.clustering.naming import theme_names, theme_words
    from themescope.core.tasks.waves import new_themes

    themes = new_themes(vectors, old, assigned.fit, seed)
    labels = np.zeros(len(found.ids), np.int32)  # 0: not in a new theme
    for number, theme in enumerate(themes, start=1):
        labels[theme.rows] = number
    names = theme_names(theme_words(found.texts, labels, len(themes) + 1, _WORDS)[1:])
    return [
        {"name": name, "sentences": found.ids[theme.rows].tolist(), "old": theme.old}
        for name, theme in zip(names, themes, strict=True)
    ]
