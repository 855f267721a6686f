"""Job kind: place a wave. Its sentences get vectors, positions on maps, predicted codes and themes.

Nothing that is stored changes: the positions are added behind those of a map, and the codes of the sentences are stored
as predictions of the wave, beside the labels and beside the predictions of the rest of a labelling. The report of such
predictions has ``unusual``, the sentences that fit no code, and ``candidates``, the new themes among them with a name
and their sentences, the central one first. The newest themes of the corpus are continued in a result of their own: each
sentence gets the nearest theme, except those of new themes, which follow the others.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.config import option
from themescope.core.errors import DataError, UnknownNameError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.records.stored import (
    ArticleRecord,
    CorpusRecord,
    LabellingRecord,
    MapRecord,
    ModelRecord,
    RunRecord,
)
from themescope.core.types import Ids, Matrix, Split
from themescope.db.records import MapPoints
from themescope.db.store import Store
from themescope.jobs.common.articles import ready_corpus, work_digest
from themescope.jobs.common.columns import places_of, waves_of
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.labelled import LabelledText, models_to_compare
from themescope.jobs.common.models import same_for_same_text
from themescope.jobs.common.vectors import embed_articles, rows_of, stacked
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.kinds.themes import KIND as THEMES

if TYPE_CHECKING:
    from themescope.core.tasks.waves import Assigned, NewTheme

KIND = "place-wave"
_KNOWN = 20_000
"""Maximum number of sentences with codes that the codes' centres are computed from, shared evenly among the codes."""
_OLD = 5_000
"""Maximum number of earlier sentences that new themes are compared with."""
_WORDS, _CENTRAL = 3, 5


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
    with store.reading() as r:
        sentences = r.corpora.sentences_of([article.id for article in articles])
    ids = np.array(sorted(sentence.id for part in sentences.values() for sentence in part), np.int64)
    placing = _Placing(context, corpus, wave, articles, ids, args.seed)
    models = placing.models()
    embedded = [
        embed_articles(context, model, articles, context.part(0.5 * i / len(models), 0.5 * (i + 1) / len(models)))
        for i, model in enumerate(models)
    ]
    context.progress(0.5, 1, "Placing on the maps")
    maps = placing.on_maps()
    labellings, left = placing.in_labellings()
    try:
        themes = placing.in_themes()
    except DataError as error:  # too few themes
        themes, left["themes"] = None, str(error)
    about = {"corpus": corpus.name, "corpus_id": corpus.id, "wave": wave["name"], "sentences": len(placing.ids)}
    cut_off = max((each.cut_off for each in embedded), default=0)
    vectors = {"models": [model.name for model in models], "embedded": sum(each.articles for each in embedded)}
    made = {"maps": maps, "labellings": labellings, "left_out": left, "themes": themes}
    return {**about, **vectors, "cut_off": cut_off, **made, "seconds": round(time.monotonic() - begun, 2)}


def _wave(store: Store, corpus: CorpusRecord, name: str) -> tuple[dict[str, Any], list[ArticleRecord]]:
    """Return a wave that was added to a corpus, by default the newest, with its articles that have sentences."""
    waves = waves_of(corpus)[1:]
    if not waves:
        raise DataError(f"No wave was added to “{corpus.name}”. Add files to it first.")
    wave = next((wave for wave in reversed(waves) if name in ("", wave["name"])), None)
    if wave is None:
        raise UnknownNameError("wave", name, [wave["name"] for wave in waves])
    with store.reading() as r:
        articles = r.corpora.articles(corpus.id, limit=wave["articles"], positions=places_of(corpus, wave["name"]))
    return wave, [article for article in articles if article.sentences]


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
        """Return the models with vectors of all earlier sentences, and those of maps and themes of the whole corpus."""
        with self.context.store.reading() as r:
            before = r.corpora.articles(self.corpus.id, limit=self.wave["first"], positions=range(self.wave["first"]))
            old = {article.id for article in before if article.sentences}
            used = {record.model_id for record in r.maps.list(self.corpus.id) if not record.articles}
            used |= {run.model_id or 0 for run in r.runs.themes(self.corpus.id, whole=True)[-1:]}
            return [m for m in r.models.list() if m.id in used or old <= r.embeddings.have(m.id, self.corpus.id)]

    # --- maps ---------------------------------------------------------------------------------------------------------

    def on_maps(self) -> list[dict[str, Any]]:
        """Add the sentences to each map of the whole corpus; return name and number of new points of each."""
        with self.context.store.reading() as r:
            maps = [record for record in r.maps.list(self.corpus.id) if not record.articles]
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
        from themescope.core.projection import SHARD, FittedMap, UmapConfig, sample

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
        old, wave = LabelledText(store, known.sentence_ids[marks]), LabelledText(store, new)
        fitted = FittedMap.of_points(old.vectors(model.name), known.points[marks], config, record.seed)
        vectors, starts = wave.vectors(model.name), range(0, len(new), SHARD)
        points = np.concatenate([fitted((len(known.points) + at, vectors[at : at + SHARD])) for at in starts])
        if same_for_same_text(model):  # identical texts have one position
            texts = [*LabelledText(store, known.sentence_ids).texts, *wave.texts]
            first = dict(zip(reversed(texts), np.concatenate([known.points, points])[::-1], strict=True))
            points = np.array([first[text] for text in wave.texts])
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
        new = _new_themes(found.texts, vectors, LabelledText(store, old).vectors(model.name), assigned, self.seed)
        candidates = [{"name": name, "sentences": wave[theme.rows].tolist(), "old": theme.old} for name, theme in new]
        report = {"unusual": wave[assigned.unusual].tolist(), "candidates": candidates}
        with self.context.writing() as w:
            w.predictions.replace(
                record.id,
                wave=self.wave["name"],
                model=model.name,
                step=snapshot.step,
                labels=len(rows),
                codes=assigned.themes,
                report=report,
                ids=wave,
                probabilities=assigned.probabilities,
            )
        return {
            "labelling": record.name,
            "labelling_id": record.id,
            "model": model.name,
            "predicted": len(wave),
            "unusual": len(report["unusual"]),
            "candidates": [{"name": one["name"], "sentences": len(one["sentences"])} for one in candidates],
        }

    # --- themes -------------------------------------------------------------------------------------------------------

    def in_themes(self) -> dict[str, Any] | None:
        """Continue the newest themes of the whole corpus by the wave; None if there are none, or they have it."""
        from themescope.core.tasks.density import mean_cosines
        from themescope.core.tasks.waves import ThemeCentres

        begun, store, random = time.monotonic(), self.context.store, np.random.default_rng(self.seed)
        with store.reading() as r:
            run = next(iter(r.runs.themes(self.corpus.id, whole=True)[-1:]), None)
            model = next((m for m in r.models.list() if run is not None and m.id == run.model_id), None)
            if run is None or model is None:
                return None
            before = r.runs.labels(run.id)
            sentences = r.corpora.sentences_of([article.id for article in self.articles])
        if any(article.id in before for article in self.articles):
            return None
        wave = [sentence for article in self.articles for sentence in sentences[article.id]]
        numbers = np.concatenate(list(before.values())).astype(np.int64)
        old = rows_of(store, model, {article: np.arange(len(labels)) for article, labels in before.items()})
        vectors = rows_of(store, model, {article.id: np.arange(article.sentences) for article in self.articles})
        rows = _evenly(numbers, random, _KNOWN)
        assigned = ThemeCentres(old[rows], numbers[rows]).assign(vectors)
        compared = np.sort(random.permutation(len(numbers))[:_OLD])
        found = _new_themes([s.text for s in wave], vectors, old[compared], assigned, self.seed)
        every = np.concatenate([numbers, assigned.labels])
        ends = np.cumsum([article.sentences for article in self.articles])[:-1]
        with store.reading() as r:
            levels = sorted(r.runs.levels(run), key=lambda level: level.id != run.id)
            had = {level.id: (r.runs.labels(level.id), *r.runs.margins(level.id, Split.TEST)) for level in levels}
        runs: list[dict[str, Any]] = []
        for level in levels:
            labels_before, ids, margins = had[level.id]
            known = np.concatenate(list(labels_before.values())).astype(np.int64)
            nearest = assigned.labels if level.id == run.id else _inside(every, known, old, vectors, rows)
            themes, labels = self._with_new(level.found["themes"], nearest, found, [s.id for s in wave])
            own, other = mean_cosines(stacked([old, vectors]), np.concatenate([known, labels]), len(themes))
            parts = dict(zip([a.id for a in self.articles], np.split(labels.astype(np.int32), ends), strict=True))
            # The texts that are repeated among the earlier sentences tell nothing of all of them.
            config = {key: value for key, value in level.config.items() if key not in ("distinct", "frequent")} | {
                "themes": themes,
                "sentences": len(known) + len(wave),
                "continues": level.id,
                "wave": self.wave["name"],
                "sampled_from": run.found.get("sampled_from", len(numbers)) + len(wave),
            }
            every_margin = np.concatenate([margins, (own - other)[len(known) :].astype(np.float32)])
            digest = work_digest(KINDS.get(KIND), run=level.digest, wave=self.wave["added"])
            by_split = {Split.TEST: (np.concatenate([ids, [s.id for s in wave]]), every_margin)}
            about = {"kind": THEMES, "digest": digest, "model_id": model.id, "clusterer": run.clusterer}
            placed = {"assignments": labels_before | parts, "margins": by_split}
            runs.append({**about, "config": config, "seed": self.seed, **placed})
        with self.context.writing() as w:
            first: RunRecord | None = None
            for values in runs:
                values["config"] |= {} if first is None else {"level_of": first.id}
                stored = w.runs.add(**values, seconds=time.monotonic() - begun)
                first = first or stored
        assert first is not None
        new = first.found["themes"][len(run.found["themes"]) :]
        return {"run_id": first.id, "continues": run.id, "new": [theme["name"] for theme in new]}

    def _with_new(
        self,
        known: Sequence[Mapping[str, Any]],
        nearest: Ids,
        found: Sequence[tuple[str, NewTheme]],
        ids: Sequence[int],
    ) -> tuple[list[dict[str, Any]], Ids]:
        """Return the themes with their sizes, the new ones last, and the (n,) themes of the sentences of the wave."""
        from themescope.core.clustering.generated_names import made_unique

        themes, labels = [dict(theme) for theme in known], nearest.copy()
        names = made_unique([name for name, _ in found], [()] * len(found), [theme["name"] for theme in themes])
        for name, (_, new) in zip(names, found, strict=True):
            labels[new.rows] = len(themes)
            central = [ids[row] for row in new.rows[:_CENTRAL].tolist()]
            themes.append({"name": name, "words": [], "size": 0, "central": central, "wave": self.wave["name"]})
        for number, size in zip(*np.unique(labels, return_counts=True), strict=True):
            themes[number]["size"] += int(size)
        return themes, labels


def _inside(every: Ids, known: Ids, old: Matrix, vectors: Matrix, rows: Ids) -> Ids:
    """Return the themes of another level for the sentences of a wave: inside those that they have, or around them.

    ``every`` are the themes of all (n + m) sentences, of which (n,) ``known`` are those of the other level; of these,
    ``rows`` represent the themes.
    """
    from themescope.core.tasks.waves import ThemeCentres

    fits = np.zeros((int(every.max()) + 1, int(known.max()) + 1))
    fits[every[: len(known)], known] = 1.0
    nearest = fits[every[len(known) :]]
    if (fits.sum(axis=1) > 1).any():  # a level that divides themes
        found = ThemeCentres(old[rows], known[rows]).assign(vectors)
        nearest[:, found.themes] *= 1.0 + found.probabilities
    return np.asarray(nearest.argmax(axis=1))


def _evenly(numbers: Ids, random: np.random.Generator, most: int) -> Ids:
    """Return ascending rows with a cluster: at most ``most``, of each cluster the same number if it has so many."""
    rows = random.permutation(np.flatnonzero(numbers != UNASSIGNED))
    order = np.argsort(numbers[rows], kind="stable")
    _, starts, sizes = np.unique(numbers[rows][order], return_index=True, return_counts=True)
    rank = np.arange(len(rows)) - np.repeat(starts, sizes)
    by_rank = np.argsort(rank, kind="stable")[:most]
    return np.sort(rows[order][by_rank])


def _new_themes(
    texts: Sequence[str], vectors: Matrix, old: Matrix, assigned: Assigned, seed: int
) -> list[tuple[str, NewTheme]]:
    """Return the new themes among (n,) sentences of a wave with their names, the clearest one first."""
    from themescope.core.clustering.naming import theme_names, theme_words
    from themescope.core.tasks.waves import new_themes

    themes = new_themes(vectors, old, assigned.fit, seed)
    labels = np.zeros(len(texts), np.int32)  # 0: not in a new theme
    for number, theme in enumerate(themes, start=1):
        labels[theme.rows] = number
    names = theme_names(theme_words(texts, labels, len(themes) + 1, _WORDS)[1:])
    return list(zip(names, themes, strict=True))
