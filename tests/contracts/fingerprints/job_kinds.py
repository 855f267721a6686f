import dataclasses
from collections.abc import Callable
from unittest import mock

import numpy as np

from tests.contracts.fingerprints.families import Fingerprint, build_model
from tests.contracts.fingerprints.inputs import NOUNS, articles, corpus, fixed, numbers, partition, upper
from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.config import digest_of
from themescope.core.models import REGISTRY as MODELS
from themescope.core.registry import Card
from themescope.core.text.splitting import SentenceSplitter
from themescope.core.triplets.rules import TripletRules
from themescope.core.types import SILENT, Split


def imported() -> Fingerprint:
    text = "Dr. Ada Lovelace (b. 1815) wrote it. Was it new? “Yes.” It cost £4.50, i.e. little … and so on."
    return [*SentenceSplitter("en").split(text)]


def sampled() -> Fingerprint:
    from themescope.core.triplets.sample import sample_triplets

    rules = (TripletRules(), TripletRules(negative="random_article", profile="all"), TripletRules(openers_only=False))
    found = [sample_triplets(articles(), "sentences", one, 5, SILENT) for one in rules]
    found.append(sample_triplets(articles(), "titles", TripletRules(), 5, SILENT))
    return [digest for made in found for digest in (made.digest, len(made))]


def built() -> Fingerprint:
    from themescope.core.tasks.scb import ScbRules, build_scb

    found: Fingerprint = []
    for rules in (ScbRules(max_articles=4), ScbRules(openers_only=True, min_sentences=2)):
        items, _ = build_scb(articles(), rules, 2, tuple(Split), SILENT)
        found.append(digest_of([[i.article_id, i.sentence_ids.tolist(), i.truth.tolist()] for i in items]))
    return found


def drawn() -> Fingerprint:
    """Distances of a few points after one round of the layout, and what umap-learn is requested.

    Later rounds amplify the rounding errors of a processor until nothing can be compared.
    """
    from themescope.core.projection import UmapConfig, faithfulness, project

    vectors = (fixed(60, 8) * 0.8 ** np.arange(8)).astype(np.float32)
    found: Fingerprint = [faithfulness(vectors, vectors[:, :2])]
    for config in (UmapConfig(epochs=1), UmapConfig(epochs=1, n_neighbors=5, min_dist=0.5, metric="euclidean")):
        points = project(vectors, config, 1, SILENT).astype(np.float64)
        found += upper(np.linalg.norm(points[:8, None] - points[None, :8], axis=-1))
    with mock.patch("umap.umap_.simplicial_set_embedding", return_value=(vectors[:, :2], {})) as asked:
        project(vectors, UmapConfig(), 1, SILENT)
        project(fixed(80, 8), UmapConfig(), 1, SILENT)
    for call in asked.call_args_list:
        found += numbers(call.args[1].data[:20])
        settings = sorted(call.kwargs.items())
        found += [f"{name} {value}" for name, value in settings if isinstance(value, str | bool | int)]
        found += [value for _, value in settings if isinstance(value, float)]
    return found


def themes() -> Fingerprint:
    from themescope.core.tasks.themes import ThemesConfig, find_themes

    texts = [s.text for s in articles()[3].sentences]
    vectors = fixed(len(texts), 6).astype(np.float32)
    found = find_themes(texts, vectors, ThemesConfig(k=3), 0, SILENT)
    curves = dataclasses.asdict(found.curves)
    measured = [value for name in sorted(curves) if isinstance(curves[name], list | tuple) for value in curves[name]]
    names = [theme.name for theme in found.themes]
    levels = [partition(level.labels) for level in (*found.coarser, *found.finer)]
    return [partition(found.labels), *names, *found.interval, *numbers(found.margins), *numbers(measured), *levels]


def compared() -> Fingerprint:
    from themescope.core.metrics.triplets import triplet_accuracy

    triplets = corpus().triplets[Split.TRAIN]
    accuracy = triplet_accuracy(build_model(MODELS.get("word-counts"), 0, SILENT), triplets, SILENT)
    return [*numbers(accuracy.margins), accuracy.estimate.value, accuracy.estimate.low, accuracy.estimate.high]


def classified() -> Fingerprint:
    from themescope.core.tasks.topics import TopicDocument, TopicSettings, assemble, central, classify, cluster_topics

    x = fixed(40, 5)
    y = np.floor(3 * (fixed(40, 1, 9)[:, 0] + 0.5)).astype(np.int32)
    scores = classify(x[:25], y[:25], x[25:], y[25:])
    documents = [
        TopicDocument(found.title, NOUNS[i % 2], "test" if i % 3 == 0 else "train", list(found.sentences))
        for i, found in enumerate(articles())
    ]
    settings = TopicSettings()
    central_ones = [central(d.sentences, fixed(len(d.sentences), 4, i), settings) for i, d in enumerate(documents)]
    task = assemble(zip(documents, central_ones, strict=True), settings)
    chosen = digest_of([part.sentences.tolist() for part in (task.train, task.validation, task.test)])
    return [chosen, partition(scores.predicted), *numbers(cluster_topics(x, y, 3, 0))]


def related() -> Fingerprint:
    from themescope.core.tasks.relatedness import PairSet, SickPairs, evaluate_sick

    texts = [s.text for found in articles()[:4] for s in found.sentences]

    def pairs(start: int, count: int) -> PairSet:
        rows = range(start, start + count)
        scores = np.array([1 + (i * 7) % 9 / 2 for i in rows])
        return PairSet(tuple(texts[i] for i in rows), tuple(texts[(i * 5 + 3) % len(texts)] for i in rows), scores)

    model = build_model(MODELS.get("mean-vectors"), 0, SILENT)
    found = SickPairs(pairs(0, 20), pairs(20, 10), pairs(30, 20))
    scores = evaluate_sick(model, found, regressor=False, seed=0, report=SILENT)
    return [number for name in sorted(scores) for number in (scores[name].value, scores[name].low, scores[name].high)]


def summarised() -> Fingerprint:
    from themescope.core.metrics.statistics import RougeSettings, rouge_1

    summary = "The rivers were running near the older markets. Nobody was selling engines at the market."
    references = [
        "The river runs by an old market, and engines are sold.",
        "Markets near a running river sell engines.",
    ]
    found: Fingerprint = []
    for settings in (RougeSettings(), RougeSettings(remove_stop_words=False, words=9)):
        counts = rouge_1(summary, references, settings)
        found += [counts.recall, counts.precision, counts.f1]
    return found


def clustered() -> Fingerprint:
    from themescope.core.tasks.scb import cluster_items, score_labels

    config = CLUSTERERS.configure("random")
    truths = [np.arange(12, dtype=np.int32) // size for size in (3, 4, 5)]
    labels = cluster_items([(truth, None) for truth in truths], "random", config, 3, None, SILENT, total=3)
    scores = score_labels(truths, labels)
    estimates = [scores[name][1] for name in sorted(scores)]
    return [*map(partition, labels), *numbers(v for e in estimates for v in (e.value, e.low, e.high))]


def taught() -> Fingerprint:
    from themescope.core.labelling.learning import Placed, labelled_triplets
    from themescope.core.labelling.partition import Cluster, start

    ids = np.arange(24)
    state = start(ids, [1 + i % 3 for i in ids.tolist()], [Cluster(n, str(n), n) for n in (1, 2, 3)])
    titles = {number: f"Article {number}" for number in range(4)}
    owner = {i: i // 6 for i in ids.tolist()}
    rows = labelled_triplets(Placed(state, ids[::2]), owner, titles, [(0, 6)], 3, 7)
    columns = [[p.articles, p.pivots, p.positives, p.negatives] for p in rows.values()]
    return [digest_of([[column.tolist() for column in part] for part in columns])]


OF_KIND: dict[str, Callable[[], Fingerprint]] = {
    "import-corpus": imported,
    "build-triplets": sampled,
    "build-benchmark": built,
    "cluster": clustered,
    "learn-labels": taught,
    "project": drawn,
    "find-themes": themes,
    "evaluate-triplets": compared,
    "evaluate-topics": classified,
    "evaluate-relatedness": related,
    "evaluate-summaries": summarised,
}
"""The kinds that compute something themselves; the others store what models and readers compute, or people gave."""


def of_job_kind(card: Card) -> Fingerprint:
    return OF_KIND[card.id]()
