"""Two methods on the same articles, and two partitions of one article side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.labelling.operations import Origin
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.partition import UNASSIGNED, Matching, match_clusters
from themescope.core.records.stored import ArticleRecord, CorpusRecord
from themescope.core.types import Ids, Labels, Sentence
from themescope.db.records import BenchmarkRecord
from themescope.jobs.services import failures as service
from themescope.jobs.services.failures import CollectedFailure
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import compare
from themescope.webapp.features.compare.method_table import Comparison, metric_title, untested
from themescope.webapp.shared import choose, labelling, queries, selections
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.compare_queries import LEAD, ClusteringRun, Division, Method, partition_name, partitions
from themescope.webapp.shared.components import clickable_table, download, draw_component
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.text import count, p_text, plain, score, shorten, signed_interval, signed_score


@dataclass(frozen=True, slots=True)
class PairOfMethods:
    """Two methods with their scores on the n common articles."""

    comparison: Comparison
    """What they were chosen from."""
    first: Method
    second: Method
    columns: tuple[int, int]
    """Their columns in the comparisons."""
    articles: Ids
    values: npt.NDArray[np.float64]
    """(n, 2) scores."""

    @property
    def gaps(self) -> npt.NDArray[np.float64]:
        """Differences between the n scores, first minus second."""
        return self.values[:, 0] - self.values[:, 1]


def choose_and_compare(found: Comparison) -> None:
    """Draw the choice of two methods, their difference, and a table of articles; a click on one shows both below."""
    tested = {m.name: (m, column) for m, column in zip(found.methods, found.columns, strict=True) if column >= 0}
    if found.scores is None or len(tested) < 2:
        nothing(
            "Two methods are needed to compare.",
            "Run a second method in the tab “Clustering”, or clear the options above.",
        )
        return
    left, right = st.columns(2)
    with left:
        first, a = tested[choose.one_of("First", list(tested), compare.FIRST)]
    with right:
        second, b = tested[choose.one_of("Second", list(tested), compare.SECOND, list(tested)[1])]
    if a == b:
        st.info("Choose two different methods.", icon=":material/info:")
        return
    pair = PairOfMethods(found, first, second, (a, b), found.scores.articles, found.scores.values[:, [a, b]])
    st.markdown(summary(pair))
    _table(pair)


def summary(pair: PairOfMethods) -> str:
    """Return the difference of two methods with its interval and test, for Markdown."""
    found, family = pair.comparison, pair.comparison.family
    assert family is not None  # there are scores of single articles
    d, p, corrected = family.between(*pair.columns)
    metric, (first, second) = metric_title(found.metric), (plain(pair.first.name), plain(pair.second.name))
    if not family.tested:
        return (
            f"**{first}** against **{second}**: {metric} {signed_score(d.value)} over {count(d.n, 'article')}. "
            f"**{untested(family)}**"
        )
    better = family.better()
    a, b = pair.columns
    ahead = "better" if better[a, b] else "worse" if better[b, a] else ""
    verdict = f"**{ahead}** than" if ahead else "**not significantly different** from"
    return (
        f"**{first}** is {verdict} **{second}**: {metric} {signed_interval(d)} over {count(d.n, 'article')} (95 % "
        f"bootstrap interval); Wilcoxon p {_with_sign(p)}, corrected for "
        f"{count(len(family.ps), 'comparison')} {_with_sign(corrected)}. It scores higher on "
        f"{int((pair.gaps > 0).sum()):,} articles, lower on {int((pair.gaps < 0).sum()):,}."
    )


def _with_sign(p: float) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"


def _table(pair: PairOfMethods) -> None:
    order = np.argsort(-np.abs(pair.gaps), kind="stable")
    known = queries.articles_by_id(pair.articles[order])
    titles = [known[id].title if id in known else "" for id in pair.articles[order].tolist()]
    first, second = pair.values[order].T
    columns = {"Article": titles, "Difference": pair.gaps[order], "First": first, "Second": second}
    key = f"articles-{pair.first.digest}-{pair.second.digest}-{pair.comparison.metric}"
    formats = {"Difference": "%+.3f", "First": "%.3f", "Second": "%.3f"}
    numbers = {name: st.column_config.NumberColumn(format=form, width=100) for name, form in formats.items()}
    clickable_table(columns, key, lambda row: _open(pair, titles[row]), height=300, column_config=numbers)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("**Click an article** to compare its two clusterings below.", width="stretch")
        write = partial(csv_text, list(columns), list(zip(*columns.values(), strict=True)))
        download("CSV", write, "themescope-two-methods.csv")


def _open(pair: PairOfMethods, title: str) -> None:
    """Show both clusterings of an article. For callbacks."""
    models, benchmark = {m.id: m for m in queries.models()}, pair.comparison.data
    assert isinstance(benchmark, BenchmarkRecord)
    runs = pair.first.runs[0], pair.second.runs[0]
    left, right = (partition_name(run, models.get(run.model_id or -1), benchmark) for run in runs)
    st.session_state.update({compare.ARTICLE: title, compare.LEFT: left, compare.RIGHT: right})


# Two partitions of one article side by side: clusters matched one-to-one, and the sentences that changed cluster

_ASSETS = Path(__file__).parent / "assets"
_LISTED = 500
_TITLE = 28
ALL, MOVED = "all", "moved"


@dataclass(frozen=True, slots=True)
class MatchedPartitions:
    """The n common sentences of two partitions, in page order, and the matching of clusters."""

    sentences: Sequence[Sentence]
    sections: Sequence[str]
    """(n,) section titles."""
    first: Labels
    second: Labels
    matching: Matching

    def numbers(self, side: int) -> dict[int, int]:
        """Return cluster → number from 1; matched clusters have equal numbers."""
        pairs = [(pair.first, pair.second)[side] for pair in self.matching.pairs]
        alone = (self.matching.only_first, self.matching.only_second)[side]
        before = len(self.matching.pairs) + (len(self.matching.only_first) if side else 0)
        return {c: i for i, c in enumerate(pairs, start=1)} | {c: before + i for i, c in enumerate(alone, start=1)}


def match_partitions(
    left: Division, right: Division, sentences: Sequence[Sentence], titles: dict[int, str]
) -> MatchedPartitions | None:
    """Match two partitions; return None if they share no sentence."""
    shared, at_left, at_right = np.intersect1d(left.sentence_ids, right.sentence_ids, return_indices=True)
    if not len(shared):
        return None
    known = {s.id: s for s in sentences}
    order = sorted(range(len(shared)), key=lambda i: known[int(shared[i])].position)
    found = [known[int(shared[i])] for i in order]
    first, second = left.labels[at_left][order], right.labels[at_right][order]
    sections = [titles.get(s.section) or LEAD for s in found]
    return MatchedPartitions(found, sections, first, second, match_clusters(first, second))


def choose_and_show(corpus: CorpusRecord) -> None:
    """Draw the choice of an article and of two of its partitions, and their comparison."""
    st.subheader("One article, divided in two ways", anchor=False)
    benchmarks = queries.clustered_benchmarks(corpus.id)
    named = queries.article_titled(corpus.id, str(st.session_state.get(compare.ARTICLE) or ""))
    listed = queries.articles(corpus.id, limit=_LISTED)
    for benchmark in benchmarks[:1]:
        ids = [*queries.benchmark_sentences(benchmark.id, benchmark.digest)][:_LISTED]
        first = queries.articles_by_id(np.array(ids, np.int64))
        listed = [*first.values(), *(a for a in listed if a.id not in first)][:_LISTED]
    options = {a.title: a for a in ([named] if named else []) + listed}
    if not options:
        nothing("This project has no articles.", "Choose another project.")
        return
    more = corpus.articles - len(listed)
    help = f"The first {_LISTED} are listed; open others in the table of articles." if more > 0 else ""
    article = options[choose.one_of("Article", list(options), compare.ARTICLE, help=help)]
    found = {p.name: p for p in partitions(article, corpus.created)}
    if len(found) < 2:
        nothing(
            "This article is divided only by its sections.",
            "Choose an article of a clustered benchmark, or run a clustering in the tab “Clustering”.",
        )
        return
    names = list(found)
    left, right = st.columns(2)
    with left:
        one = found[choose.one_of("Left", names, compare.LEFT, names[1], "Reference.")]
    with right:
        other = found[choose.one_of("Right", names, compare.RIGHT, names[0], "To compare with the reference.")]
    _show(article, corpus, one, other)


def _show(article: ArticleRecord, corpus: CorpusRecord, one: ClusteringRun, other: ClusteringRun) -> None:
    titles, sentences = queries.article_text(article.id, corpus.created)
    left, right = one.load(), other.load()
    found = match_partitions(left, right, sentences, {s.position: s.title for s in titles})
    if found is None:
        nothing("These two share no sentence.", "Choose two that divide the same sentences.")
        return
    matching, moved = found.matching, len(found.matching.moved)
    alone = len(matching.only_first), len(matching.only_second)
    unmatched = f"; unmatched: {alone[0]} left, {alone[1]} right" if sum(alone) else ""
    ari = score(METRICS.build("ari").score(found.first, found.second))
    st.markdown(
        f"**{plain(one.name)}** and **{plain(other.name)}**: {moved:,} of {count(len(found.sentences), 'sentence')} "
        f"**changed cluster**. {count(len(matching.pairs), 'cluster pair')} matched one-to-one by largest "
        f"overlap{unmatched}. Adjusted Rand index (ARI): {ari}."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        options = {ALL: "All sentences", MOVED: f"Changed only ({moved:,})"}
        shown = choose.segment("Show", options, compare.SENTENCES, MOVED if moved else ALL)
        st.space("stretch")
        if moved:
            changed = [found.sentences[i].id for i in matching.moved]
            origin = Origin("moved", (f"changed cluster from {one.name} to {other.name}", article.title))
            selections.offer_button(f"Select {count(moved, 'changed sentence')}", corpus.id, lambda: changed, origin)
            batch = f"{one.name} against {other.name}"
            collected = partial(_failures, found, article, (one, other))
            labelling.button("partitions", "Collect as errors", corpus.id, batch, collected)
        download("CSV", lambda: export(found, left, right, (one.name, other.name)), "themescope-two-partitions.csv")
    data = pair_data(found, (left, right), (one.name, other.name), tones(st.context.theme.type), shown == ALL)
    draw_component("partitions", _ASSETS, data=data, key="compare_partitions")


def _failures(
    found: MatchedPartitions, article: ArticleRecord, sides: tuple[ClusteringRun, ClusteringRun]
) -> list[CollectedFailure]:
    """Return the sentences that changed cluster: misplaced beside the sections, else a disagreement of two."""
    one, other = sides
    first, second = _columns(found, one.load(), other.load())
    placed = {found.sentences[i].id: f"{first[i]} → {second[i]}" for i in found.matching.moved.tolist()}
    models = tuple(side.name for side in sides if side.kind != "sections")
    kind = service.DISAGREEMENT if len(models) == 2 else service.SENTENCE
    link = labelling.permalink({compare.ARTICLE: article.title, compare.LEFT: one.name, compare.RIGHT: other.name})
    source = f"{one.name} against {other.name}"
    of_people = any(side.kind == "labelling" for side in sides)
    return service.sentences(queries.store(), list(placed), kind, source, placed, link, models, of_people)


def pair_data(
    found: MatchedPartitions,
    divisions: tuple[Division, Division],
    names: tuple[str, str],
    theme: Tones,
    everything: bool,
) -> dict[str, Any]:
    """Return the data of the component: matched clusters first; ``everything`` adds unchanged sentences."""
    order = {title: i for i, title in enumerate(dict.fromkeys(found.sections))}
    colours = [theme.colour(order[title]) for title in found.sections]
    sides = [_side(found, side, divisions[side], colours, everything) for side in (0, 1)]
    numbers = found.numbers(0), found.numbers(1)
    rows: list[tuple[int | None, int | None]] = [(p.first, p.second) for p in found.matching.pairs]
    rows += [(c, None) for c in found.matching.only_first] + [(None, c) for c in found.matching.only_second]
    if UNASSIGNED in found.first or UNASSIGNED in found.second:
        rows.append((UNASSIGNED, UNASSIGNED))
    groups = []
    for a, b in rows:
        group = {"left": sides[0].get(a), "right": sides[1].get(b)}
        number = numbers[0].get(a, 0) if a is not None else numbers[1].get(b or 0, 0)
        if everything or any(part and part["sentences"] for part in group.values()):
            groups.append(group | {"name": f"Cluster {number}" if number else "Not assigned"})
    return {"left": names[0], "right": names[1], "groups": groups, "empty": "Unmatched."}


def _side(
    found: MatchedPartitions, side: int, division: Division, colours: Sequence[str], everything: bool
) -> dict[int | None, dict[str, Any]]:
    own, others = (found.first, found.second) if side == 0 else (found.second, found.first)
    numbers, elsewhere = found.numbers(side), found.numbers(1 - side)
    moved, arrow = set(found.matching.moved.tolist()), "→" if side == 0 else "←"
    drawn: dict[int | None, dict[str, Any]] = {}
    for cluster in (*numbers, *([UNASSIGNED] if UNASSIGNED in own else [])):
        rows = np.flatnonzero(own == cluster).tolist()
        title, n = Counter(found.sections[i] for i in rows).most_common(1)[0]
        sentences = [
            {
                "text": found.sentences[i].text,
                "section": shorten(found.sections[i], _TITLE),
                "colour": colours[i],
                "moved": f"{arrow} {elsewhere.get(int(others[i]), 'not assigned')}" if i in moved else "",
            }
            for i in rows
            if everything or i in moved
        ]
        stay = len(rows) - len(moved.intersection(rows))
        drawn[cluster] = {
            "name": cluster_name(numbers.get(cluster), division.names.get(cluster)),
            "about": f"{count(len(rows), 'sentence')}, {stay:,} unchanged; mostly “{shorten(title, _TITLE)}” ({n})",
            "quiet": "No sentence changed cluster.",
            "sentences": sentences,
        }
    return drawn


def cluster_name(number: int | None, name: str | None) -> str:
    """Return a cluster's name: ``Cluster 3``, ``3 · History`` or ``Not assigned``."""
    if number is None:
        return "Not assigned"
    return f"{number} · {name}" if name else f"Cluster {number}"


def _columns(found: MatchedPartitions, left: Division, right: Division) -> tuple[list[str], list[str]]:
    sides = ((found.first, found.numbers(0), left), (found.second, found.numbers(1), right))
    first, second = (
        [cluster_name(numbers.get(int(label)), division.names.get(int(label))) for label in labels]
        for labels, numbers, division in sides
    )
    return first, second


def export(found: MatchedPartitions, left: Division, right: Division, names: tuple[str, str]) -> str:
    """Return a CSV of the common sentences and their clusters, with formulas escaped."""
    moved = set(found.matching.moved.tolist())
    header = ("sentence_id", "section", names[0], names[1], "moved", "sentence")
    columns = zip(found.sentences, found.sections, *_columns(found, left, right), strict=True)
    return csv_text(
        header, ([s.id, title, a, b, int(i in moved), s.text] for i, (s, title, a, b) in enumerate(columns))
    )
