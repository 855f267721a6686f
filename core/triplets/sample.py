"""Sampling of triplet sets from articles (Ein Dor et al. 2018, section 3)."""

from __future__ import annotations

import hashlib
import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from themescope.core.errors import ConfigError, DataError
from themescope.core.protocols import Report
from themescope.core.triplets.draws import (
    Drawn,
    Indices,
    TextColumns,
    article_key,
    draw_sentences,
    draw_titles,
    keys,
    two_below,
)
from themescope.core.triplets.rules import ArticleSentences, TripletRules, kept_sections
from themescope.core.types import Split, TripletRows

KINDS = {"sentences": draw_sentences, "titles": draw_titles}
REPORT_EVERY = 200


@dataclass(frozen=True, slots=True)
class SampledTriplets:
    """A sampled set. Rows are in canonical order: by article title, then by position in the article.

    In a ``titles`` set positives and negatives are section ids; all others are sentence ids. The ids of the triplets
    are 0, because the store assigns them.
    """

    kind: str
    rows: dict[Split, TripletRows]
    counts: dict[str, Any]
    content: str

    def __len__(self) -> int:
        return sum(len(rows.pivots) for rows in self.rows.values())

    def digest(self) -> str:
        """Return 16 hex digits of kind, titles and texts, independent of ids and file order."""
        return self.content


def sample_triplets(
    articles: Iterable[ArticleSentences], kind: str, rules: TripletRules, seed: int, report: Report
) -> SampledTriplets:
    """Sample triplets from ``articles``, which are read once.

    Memory is about 50 bytes per triplet and, for ``random_article``, 24 bytes per eligible sentence; text is not kept.
    Raises :class:`ConfigError` for an unknown kind or an undefined combination of settings.
    """
    if kind not in KINDS:
        raise ConfigError(f"Triplets are of kind {' or '.join(KINDS)}, not {kind!r}.")
    if kind == "titles" and rules.negative != "adjacent":
        raise ConfigError(
            f"Negatives of title triplets come from neighbouring sections; negative={rules.negative!r} is for "
            "sentences only. Use negative='adjacent'."
        )
    counts: Counter[str] = Counter()
    drawn: list[Drawn] = []
    expected = operator.length_hint(articles)
    for done, article in enumerate(articles, start=1):
        found = _draw(article, kind, rules, seed, counts)
        if found is not None:
            drawn.append(found)
        if done % REPORT_EVERY == 0:
            report.progress(done, max(expected, done), "articles")
    drawn.sort(key=Drawn.order)
    return _assemble(kind, drawn, _negatives(drawn, seed), counts, rules)


def _draw(article: ArticleSentences, kind: str, rules: TripletRules, seed: int, counts: Counter[str]) -> Drawn | None:
    counts["articles_seen"] += 1
    counts["sections_seen"] += len(article.sections)
    counts["sentences_seen"] += len(article.sentences)
    dropped: Counter[str] = Counter()
    kept = kept_sections(article, rules, dropped)
    counts.update({f"section:{rule}": n for rule, n in dropped.items()})
    if len(kept) < rules.min_sections:
        counts["section:article_dropped"] += len(kept)
        counts["article:too_few_sections"] += 1
        return None
    counts["articles_qualifying"] += 1
    counts["sections_kept"] += len(kept)
    counts["sentences_in_kept_sections"] += sum(len(section.sentences) for section in kept)
    return KINDS[kind](article, kept, rules, seed, counts)


def _negatives(drawn: list[Drawn], seed: int) -> list[TextColumns]:
    pools: dict[Split, TextColumns] = {}
    starts: Counter[Split] = Counter()
    negatives = []
    for found in drawn:
        if found.negatives is not None:
            negatives.append(found.negatives)
            continue
        if found.split not in pools:
            pools[found.split] = _joined([d.pool for d in drawn if d.split == found.split])
        negatives.append(_from_other_articles(found, pools[found.split], starts[found.split], seed))
        starts[found.split] += len(found.pool)
    return negatives


def _from_other_articles(found: Drawn, pool: TextColumns, start: int, seed: int) -> TextColumns:
    free = len(pool) - len(found.pool)
    if free == 0 and len(found.pivots):
        raise DataError(
            f"{found.title!r} is the only eligible article of its split ({found.split}), so there is no other "
            "article to sample negatives from. Use more articles, or negative='adjacent'."
        )
    u, v, which = found.slots
    base = article_key(found.title, seed)
    bounds = np.full(len(u), max(free, 1), dtype=np.int64)
    drawn = two_below(keys(base, "article", u, v), keys(base, "second article", u, v), which, bounds)
    return pool.take(np.where(drawn >= start, drawn + len(found.pool), drawn))


def _assemble(
    kind: str, drawn: list[Drawn], negatives: list[TextColumns], counts: Counter[str], rules: TripletRules
) -> SampledTriplets:
    digest = hashlib.blake2b(kind.encode(), digest_size=8)
    parts: dict[Split, list[tuple[int, Indices]]] = {split: [] for split in Split}
    for found, own in zip(drawn, negatives, strict=True):
        same = (own.folded == found.pivots.folded) | (own.folded == found.positives.folded)
        counts["triplet:same_text"] += int(same.sum())
        rows = np.flatnonzero(~same)
        if len(rows) == 0:
            continue
        columns = [texts.take(rows) for texts in (found.pivots, found.positives, own)]
        digest.update(found.title.encode("utf-8", "surrogatepass") + b"\n")
        digest.update(np.stack([c.exact for c in columns]).astype(">u8").tobytes())
        parts[found.split].append((found.article_id, np.stack([c.ids for c in columns])))
    rows_of = {split: _rows(part) for split, part in parts.items()}
    return SampledTriplets(kind, rows_of, _counts(counts, parts, rules), digest.hexdigest())


def _rows(parts: list[tuple[int, Indices]]) -> TripletRows:
    columns = np.concatenate([ids for _, ids in parts], axis=1) if parts else np.empty((3, 0), np.int64)
    sizes = [ids.shape[1] for _, ids in parts]
    articles = np.repeat(np.array([article for article, _ in parts], dtype=np.int64), sizes)
    return TripletRows(np.zeros(len(articles), np.int64), articles, columns[0], columns[1], columns[2])


def _joined(pools: list[TextColumns]) -> TextColumns:
    return TextColumns(
        np.concatenate([p.ids for p in pools]),
        np.concatenate([p.exact for p in pools]),
        np.concatenate([p.folded for p in pools]),
    )


def _counts(
    counts: Counter[str], parts: Mapping[Split, list[tuple[int, Indices]]], rules: TripletRules
) -> dict[str, Any]:
    """Return the numbers of items read, kept and dropped by rule; the numbers of each level add up."""
    articles = {str(split): len(part) for split, part in parts.items()}
    triplets = {str(split): sum(ids.shape[1] for _, ids in part) for split, part in parts.items()}
    total, givers = sum(triplets.values()), sum(articles.values())
    caps = rules.caps()
    over_cap = counts["triplets_possible"] - counts["triplet:same_text"] - total
    return {
        "articles": {
            "seen": counts["articles_seen"],
            "qualifying": counts["articles_qualifying"],
            "with_triplets": {**articles, "total": givers},
            "dropped": {"fewer_than_min_sections": counts["article:too_few_sections"]},
        },
        "sections": {
            "seen": counts["sections_seen"],
            "kept": counts["sections_kept"],
            "dropped": {name.removeprefix("section:"): n for name, n in counts.items() if name.startswith("section:")},
        },
        "sentences": {
            "seen": counts["sentences_seen"],
            "in_kept_sections": counts["sentences_in_kept_sections"],
            "eligible": counts["eligible"],
            "dropped": {rule: counts[rule] for rule in ("not_opening", "too_short", "too_long")},
        },
        "pairs": {"possible": counts["pairs_possible"], "used": counts["pairs_used"], "cap_per_section": caps[0]},
        "triplets": {
            **triplets,
            "total": total,
            "dropped": {"over_article_cap": over_cap, "same_text": counts["triplet:same_text"]},
            "cap_per_article": caps[1],
        },
        "mean_triplets_per_article": round(total / givers, 3) if givers else 0.0,
    }
