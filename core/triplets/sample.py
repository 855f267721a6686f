"""Sampling of triplet sets from articles (Ein Dor et al. 2018, section 3), and triplets of one's own."""

from __future__ import annotations

import csv
import hashlib
import json
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from themescope.core.errors import ConfigError, DataError, ReadError
from themescope.core.triplets.rules import (
    ArticleSentences,
    Drawn,
    Indices,
    TextColumns,
    TripletRules,
    article_key,
    draw_sentences,
    draw_titles,
    fold,
    kept_sections,
    keys,
    two_below,
)
from themescope.core.types import Ids, Report, Split, TripletRows, TripletTexts

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
    digest: str
    """16 hex digits of kind, titles and texts, independent of ids and file order."""

    def __len__(self) -> int:
        return sum(len(rows.pivots) for rows in self.rows.values())


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
            same = [other.pool for other in drawn if other.split == found.split]
            joined = (np.concatenate([getattr(pool, column) for pool in same]) for column in ("ids", "exact", "folded"))
            pools[found.split] = TextColumns(*joined)
        pool, start, own = pools[found.split], starts[found.split], len(found.pool)
        free = len(pool) - own
        if free == 0 and len(found.pivots):
            raise DataError(
                f"{found.title!r} is the only eligible article of its split ({found.split}), so there is no other "
                "article to sample negatives from. Use more articles, or negative='adjacent'."
            )
        u, v, which = found.slots
        base, bounds = article_key(found.title, seed), np.full(len(found.pivots), max(free, 1), dtype=np.int64)
        row = two_below(keys(base, "article", u, v), keys(base, "second article", u, v), which, bounds)
        negatives.append(pool.take(np.where(row >= start, row + own, row)))
        starts[found.split] += own
    return negatives


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


# Reader of files of triplets

COLUMNS = ("Sentence1", "Sentence2", "Sentence3")
_NAMES = {"sentence1", "pivot", "anchor"}, {"sentence2", "positive"}, {"sentence3", "negative"}
"""Folded names of the columns of pivot, positive and negative, with :data:`COLUMNS` among them."""
GROUP_COLUMNS = ("article id", "article", "article title", "group")
"""Folded names, with spaces for ``_`` and ``-``, of the column with the article of each triplet."""
_LEAST = 20  # least number of triplets of which some can be held out


def read_triplets(path: Path) -> TripletTexts:
    """Return the triplets of a UTF-8 file in its order: CSV with a header, or JSON lines.

    The columns or keys are pivot, positive and negative, or Sentence1 to Sentence3. Groups are numbered 0, 1, … in
    order of appearance. Raises :class:`ReadError` with the line of the error: missing columns, a row of another length,
    an empty sentence, wrong encoding, no rows.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            if path.name.lower().endswith((".jsonl", ".ndjson")):
                header, *rows = _json_rows(path, file)
            else:
                header = [name.strip() for name in next(reader, [])]
                rows = list(_csv_rows(path, reader, header, _columns(path, header)))
            columns = _columns(path, header)
    except UnicodeDecodeError as error:
        raise ReadError(path, "The text is not UTF-8.", _undecodable_line(path), "Save the file as UTF-8.") from error
    except csv.Error as error:
        raise ReadError(path, f"This is not a CSV file: {error}.", f"line {reader.line_num}") from error
    except OSError as error:
        raise ReadError(path, f"The file cannot be opened: {error.strerror or error}.") from error
    if not rows:
        raise ReadError(path, "There are no triplets below the header.")
    table = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    pivots, positives, negatives = (table.pop(header[i]) for i in columns)
    group = next((name for name in table if fold(name.replace("_", " ").replace("-", " ")) in GROUP_COLUMNS), "")
    numbers: dict[str, int] = {}
    groups = [numbers.setdefault(value, len(numbers)) for value in table[group]] if group else [-1] * len(rows)
    return TripletTexts(pivots, positives, negatives, np.array(groups, dtype=np.int64))


def _columns(path: Path, header: list[str]) -> list[int]:
    """Return the columns of the three sentences; names are compared without case and spaces."""
    if not header:
        raise ReadError(path, "The file is empty.", "line 1", "It needs the columns pivot, positive, negative.")
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise ReadError(path, f"The column {repeated[0]!r} appears twice.", "line 1", "Rename one of them.")
    folded = [fold(name).replace(" ", "") for name in header]
    missing = [name for name, names in zip(COLUMNS, _NAMES, strict=True) if not names & {*folded}]
    if missing:
        raise ReadError(
            path,
            f"The column{'s' if len(missing) > 1 else ''} {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} "
            f"missing; there are: {', '.join(header)}.",
            "line 1",
            "Name the columns pivot, positive and negative (or Sentence1, Sentence2 and Sentence3).",
        )
    return [next(i for i, name in enumerate(folded) if name in names) for names in _NAMES]


def _json_rows(path: Path, lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the keys of the first object, and then the values of each object."""
    header: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise ReadError(path, f"This is not JSON: {error}.", f"line {number}") from error
        if not isinstance(found, dict) or (header and not {header[i] for i in _columns(path, header)} <= {*found}):
            raise ReadError(path, "This is no object with the keys pivot, positive, negative.", f"line {number}")
        if not header:
            yield (header := [*found])
        values = [found.get(name, "") for name in header]
        for i in _columns(path, header):
            if not isinstance(values[i], str) or not values[i].strip():
                raise ReadError(path, f"{header[i]} is no text.", f"line {number}", "A triplet needs three sentences.")
        yield [str(value) for value in values]


def grouped(texts: TripletTexts) -> TripletTexts:
    """Return triplets with groups: those that are given, or else numbers of triplets that share sentences."""
    if (texts.groups >= 0).all():
        return texts
    numbers = {text: i for i, text in enumerate(dict.fromkeys((*texts.pivots, *texts.positives, *texts.negatives)))}
    rows = [[numbers[text] for text in column] for column in (texts.pivots, texts.positives, texts.negatives)]
    pairs = np.array([rows[0] * 2, rows[1] + rows[2]])
    graph = sparse.coo_array((np.ones(pairs.shape[1]), pairs), shape=(len(numbers), len(numbers)))
    return replace(texts, groups=sparse.csgraph.connected_components(graph)[1][rows[0]].astype(np.int64))


def divided(texts: TripletTexts, held_out: Sequence[Split] = (Split.VALIDATION, Split.TEST)) -> dict[Split, Ids]:
    """Return the rows of the training triplets, and of a tenth for each split that is held out.

    Whole groups are held out, as far as there are ten; otherwise single triplets. Raises :class:`DataError` for fewer
    than 20 triplets.
    """
    n, groups = len(texts), grouped(texts).groups
    if n < _LEAST:
        raise DataError(f"There are {n} triplets. A training needs at least {_LEAST}, of which some are held out.")
    place, (numbers, first, sizes) = np.zeros(n, np.int64), np.unique(groups, return_index=True, return_counts=True)
    if len(numbers) < 10:
        place = np.where(np.arange(n) % 10 < len(held_out), np.arange(n) % 10 + 1, 0)
    else:  # in an order that depends on the texts only; the largest group is trained on
        names = [hashlib.blake2b(texts.pivots[row].encode("utf-8", "surrogatepass")).digest() for row in first]
        waiting = [g for g in sorted(range(len(numbers)), key=names.__getitem__) if g != sizes.argmax()]
        for part in range(1, len(held_out) + 1):
            while waiting and 10 * (place == part).sum() < n:
                place[groups == numbers[waiting.pop()]] = part
    return {split: np.flatnonzero(place == part) for part, split in enumerate((Split.TRAIN, *held_out))}


def taken(texts: TripletTexts, rows: Ids) -> TripletTexts:
    """Return some of the triplets."""
    columns = (texts.pivots, texts.positives, texts.negatives)
    pivots, positives, negatives = ([column[row] for row in rows] for column in columns)
    return TripletTexts(pivots, positives, negatives, texts.groups[rows])


def _csv_rows(path: Path, reader: Iterator[list[str]], header: list[str], columns: list[int]) -> Iterator[list[str]]:
    for row in reader:
        line = f"line {reader.line_num}"  # type: ignore[attr-defined]
        if not row:
            continue
        if len(row) != len(header):
            problem = f"The row has {len(row)} cells, the header {len(header)}."
            raise ReadError(path, problem, line, "Check quotes and commas.")
        for i in columns:
            if not row[i].strip():
                raise ReadError(path, f"{header[i]} is empty.", line, "Every triplet needs three sentences.")
        yield row


def _undecodable_line(path: Path) -> str:
    """Return the first line that is not UTF-8; the error of a buffered reader gives only a position in its buffer."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"line {number}"
    return ""
