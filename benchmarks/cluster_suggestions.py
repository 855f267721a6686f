"""Criteria for suggested merges, outliers and groups of clusters, on data whose sections and themes are known.

    python -m benchmarks.cluster_suggestions articles.jsonl.xz --split validation --articles 100 --newsgroups FOLDER

Merges: each article is clustered into twice as many clusters as it has sections (Iclust). A pair is right if most
sentences of both clusters are from the same section. Outliers: one sentence in twenty is from another article, and the
article is clustered with these. Groups: the 20 newsgroups are grouped into their 6 subjects. The criteria that the
labelling uses are marked with *. Prints one JSON object for each criterion, with 95 % intervals over articles.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score, average_precision_score, roc_auc_score

from benchmarks._section_articles import SectionArticle, section_articles
from themescope.core.api import load
from themescope.core.clustering.iclust import Iclust, IclustConfig
from themescope.core.clustering.inputs import unit_rows
from themescope.core.labelling.partition import Cluster, Partition, start
from themescope.core.labelling.similar_clusters import Centres, centres, densities, similar_groups, similar_pairs
from themescope.core.labelling.suggestions import affinities
from themescope.core.metrics.statistics.intervals import bootstrap_mean, paired_difference
from themescope.core.protocols import SILENT
from themescope.core.readers import REGISTRY as READERS
from themescope.core.types import Estimate, Labels, Split

Floats = npt.NDArray[np.float64]
_PLANTED = 20
"""One sentence in so many is from another article."""
_MESSAGES, _REPEATS = 100, 20
_SUBJECTS = {"comp": 0, "rec": 1, "sci": 2, "misc": 3, "talk.politics": 4, "talk.religion": 5, "alt": 5, "soc": 5}


def partition_of(labels: Labels) -> Partition:
    """Return the partition into the clusters of (n,) labels, numbered from 1."""
    return start(np.arange(len(labels)), labels + 1, [Cluster(int(n) + 1, str(n), 0) for n in np.unique(labels)])


def clustered(x: npt.NDArray[np.float32], k: int) -> tuple[Partition, Centres]:
    """Cluster (n, dim) vectors into k clusters."""
    partition = partition_of(Iclust(IclustConfig(restarts=5)).fit_predict(x, min(k, len(x) - 1), 0))
    return partition, centres(partition, x)


def merges(article: SectionArticle) -> dict[str, float] | None:
    """Return the average precision of each criterion for the pairs of an article; None without a right pair."""
    partition, found = clustered(article.vectors, 2 * (int(article.truth.max()) + 1))
    own = {int(n): int(np.bincount(article.truth[partition.numbers == n]).argmax()) for n in found.numbers}
    pairs = list(combinations(range(len(found.numbers)), 2))
    right = np.array([own[int(found.numbers[a])] == own[int(found.numbers[b])] for a, b in pairs])
    if not right.any() or right.all():
        return None
    first, second = np.array(pairs).T
    between = (found.means @ found.means.T)[first, second]
    unit = np.asarray(unit_rows(found.means))
    n, squares = found.sizes, (found.means**2).sum(axis=1)
    distance = squares[first] + squares[second] - 2 * between
    used = {(pair.first, pair.second): pair.similarity for pair in similar_pairs(found, len(pairs))}
    scores = {
        "mean cosine *": np.array([used[tuple(found.numbers[list(pair)].tolist())] for pair in pairs]),
        "mean cosine less that within": between - (found.within[first] + found.within[second]) / 2,
        "cosine of the centres": (unit @ unit.T)[first, second],
        "Ward": -(n[first] * n[second] / (n[first] + n[second])) * distance,
        "random": np.random.default_rng(0).random(len(pairs)),
    }
    return {name: float(average_precision_score(right, score)) for name, score in scores.items()}


def outliers(article: SectionArticle, other: SectionArticle) -> dict[str, float]:
    """Return the area under the ROC curve of each criterion for sentences of another article."""
    random = np.random.default_rng(0)
    planted = random.permutation(len(other.truth))[: max(len(article.truth) // _PLANTED, 1)]
    x = np.concatenate([article.vectors, other.vectors[planted]])
    foreign = np.arange(len(x)) >= len(article.truth)
    partition, found = clustered(x, int(article.truth.max()) + 1)
    similarity = affinities(partition, x)
    similarity[~np.isfinite(similarity)] = -1.0
    scores = {
        "mean cosine to 10 neighbours *": densities(x),
        "mean cosine to 5 neighbours": densities(x, 5),
        "mean cosine to all": densities(x, len(x)),
        "mean cosine to the nearest cluster": similarity.max(axis=1),
        "the same less that within the cluster": similarity.max(axis=1) - found.within[similarity.argmax(axis=1)],
        "random": random.random(len(x)),
    }
    return {name: float(roc_auc_score(foreign, -score)) for name, score in scores.items()}


def groups(folder: Path) -> Iterator[dict[str, float]]:
    """Yield the adjusted Rand index of each criterion with the subjects, for random messages of each newsgroup."""
    texts: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*-test.jsonl*")):
        for message in READERS.build("newsgroups").read(path, SILENT):
            text = " ".join(" ".join(p.text.split()) for section in message.sections for p in section.paragraphs)
            texts.setdefault(message.topic, []).append(text[:500])
    names = sorted(texts)
    truth = [next(subject for prefix, subject in _SUBJECTS.items() if name.startswith(prefix)) for name in names]
    model = load("default")
    vectors = [np.asarray(model.encode(texts[name]), np.float32) for name in names]
    for seed in range(_REPEATS):
        random = np.random.default_rng(seed)
        parts = [x[random.permutation(len(x))[:_MESSAGES]] for x in vectors]
        labels = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
        x = np.concatenate(parts)
        found, k = centres(partition_of(labels), x), len(set(truth))
        centred = found.means - found.means.mean(axis=0)
        own = similar_groups(found, k)
        place = {number: number_of for number_of, group in enumerate(own) for number in group}
        cuts = {
            "as suggested *": [place[n] for n in found.numbers.tolist()],
            "average linkage of cosines": fcluster(linkage(found.means, "average", metric="cosine"), k, "maxclust"),
            "the same, centred": fcluster(linkage(centred, "average", metric="cosine"), k, "maxclust"),
            "Ward of unit centres": fcluster(linkage(np.asarray(unit_rows(found.means)), "ward"), k, "maxclust"),
        }
        yield {name: float(adjusted_rand_score(truth, cut)) for name, cut in cuts.items()}


def report(task: str, measured: Sequence[Mapping[str, float]]) -> None:
    """Print the mean of each criterion with its interval, and the difference of the one that is used to it."""
    used = next(name for name in measured[0] if name.endswith("*"))
    for name in measured[0]:
        values = [one[name] for one in measured]
        mean, gap = bootstrap_mean(values), paired_difference([one[used] for one in measured], values)
        line = {"task": task, "criterion": name, "n": mean.n, "mean": _rounded(mean)}
        line |= {"used less this": _rounded(gap)}
        print(json.dumps(line))


def _rounded(found: Estimate) -> list[float]:
    return [round(float(value), 3) for value in (found.value, found.low, found.high)]


def main(wanted: argparse.Namespace) -> None:
    """Measure what the arguments ask for."""
    articles = section_articles(wanted.files, Split(wanted.split), wanted.articles, cache=wanted.vectors)
    report("merges", [found for found in map(merges, articles) if found is not None])
    report("outliers", [outliers(*pair) for pair in zip(articles, [*articles[1:], articles[0]], strict=True)])
    if wanted.newsgroups:
        report("groups", list(groups(wanted.newsgroups)))


def arguments() -> argparse.Namespace:
    """Return the arguments of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--split", default="validation")
    parser.add_argument("--articles", type=int, default=100)
    parser.add_argument("--vectors", type=Path, help="cache of the vectors (.npz)")
    parser.add_argument("--newsgroups", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main(arguments())
