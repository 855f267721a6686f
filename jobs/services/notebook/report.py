"""Report of an error analysis: counts, figures, agreement, examples with links; the cases as CSV and JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

from themescope.core.labelling.error_cases import NEGATIVE, PIVOT, POSITIVE, Passage
from themescope.core.labelling.markup import Block, Figure, HeadingBlock, LinkTargets, ParagraphBlock, Quotation, Table
from themescope.core.records.stored import ErrorCase
from themescope.db.label_records import ErrorNote, Notebook
from themescope.db.store import Store
from themescope.jobs.common.results import code_version
from themescope.jobs.services.notebook.counts import (
    Counts,
    CountScope,
    CountTable,
    agreement,
    agreement_of_all,
    analysts,
    codes_of,
    count_categories,
    in_words,
    most_common_pair,
)
from themescope.jobs.services.table_files import csv_text, json_lines

_ROW, _LABEL, _CHART, _VALUE = 30, 230, 330, 140
_TEXT = 34
_BAR, INK = "#1b7f79", "currentColor"
"""Colour of bars, and of text and lines where none is given: that of the surroundings."""


def shares(found: Counts, ink: str = INK) -> str:
    """Return a bar chart of the shares of the categories with their 95 % intervals; ``ink`` colours text and lines."""
    rows = [row for row in found.categories]
    height, width = _ROW * len(rows) + 40, _LABEL + _CHART + _VALUE
    label = "; ".join(f"{r.category.name}: {r.share:.0%}, {r.low:.0%} to {r.high:.0%}" for r in rows)
    parts = [
        f'<svg role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'style="width:100%;max-width:{width}px;font:14px system-ui,sans-serif;color:{ink}" '
        f'aria-label="{escape(label)}">'
        f"<title>Share of cases by category, with 95 % intervals</title>"
    ]
    parts += [_gridline(share, height) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    for place, row in enumerate(rows):
        y = place * _ROW + _ROW / 2 + 4
        low, high, end = (_LABEL + _CHART * value for value in (row.low, row.high, row.share))
        text = f"{row.share:.0%} [{row.low:.0%}, {row.high:.0%}]"
        parts += [
            _text(_LABEL - 10, y, _shortened(row.category.name), "end"),
            f'<rect x="{_LABEL}" y="{y - 8}" width="{max(end - _LABEL, 1):.1f}" height="16" '
            f'fill="{_BAR}" opacity="0.55"/>',
            f'<path d="M{low:.1f} {y}H{high:.1f}M{low:.1f} {y - 5}v10M{high:.1f} {y - 5}v10" stroke="{INK}" '
            'stroke-width="1.5" fill="none"/>',
            _text(_LABEL + _CHART + 12, y, text, "start"),
        ]
    return "".join([*parts, "</svg>"])


def _gridline(share: float, height: int) -> str:
    x = _LABEL + _CHART * share
    line = f'<path d="M{x:.1f} 0V{height - 26}" stroke="{INK}" opacity="0.15"/>'
    return line + _text(x, height - 12, f"{share:.0%}", "middle")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" dy="0.35em" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1].rstrip() + "…"


_PASSAGES = 6
_ROLES = {PIVOT: "Pivot", POSITIVE: "Positive (same section)", NEGATIVE: "Negative (other section)"}


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report contains, and how it links."""

    project: str
    scope: CountScope
    examples: int
    """Maximum number of cases shown for each category."""
    case_address: Callable[[ErrorCase], str]
    """Returns the link to a case in the error notebook."""
    origin_address: Callable[[ErrorCase], str]
    """Returns the link to the view that a case was found in."""
    name_of: Callable[[str], str] = lambda person: person or "the person without a name"


def report(store: Store, notebook: Notebook, options: ReportOptions) -> list[Block]:
    """Return the blocks of a report, to be written by :mod:`themescope.core.labelling.markup`."""
    counts = count_categories(notebook, options.scope)
    return [
        *_summary(notebook, counts, options),
        *_counts(counts),
        *_samples(notebook, options),
        *_agreement(notebook, options),
        *_examples(notebook, counts, options),
        *_made_with(store, notebook),
    ]


def _summary(notebook: Notebook, counts: Counts, options: ReportOptions) -> list[Block]:
    kinds = [case.kind.value for case in notebook.cases]
    listed = ", ".join(f"{kinds.count(kind):,} {kind}" for kind in dict.fromkeys(kinds))
    people = ", ".join(options.name_of(person) for person in analysts(notebook)) or "nobody yet"
    drawn = sum(case.sample_id is not None for case in notebook.cases)
    return [
        HeadingBlock(1, f"Error analysis of {options.project}"),
        ParagraphBlock(
            f"{datetime.now(UTC):%d %B %Y}. {len(notebook.cases):,} cases ({listed}), {drawn:,} of them drawn at "
            f"random; {counts.coded:,} coded. Analysts: {people}."
        ),
    ]


def _counts(counts: Counts) -> list[Block]:
    if not counts.coded or not counts.categories:
        return [ParagraphBlock("No case has a category yet.")]
    rows = [
        (r.category.name, r.category.description, f"{r.cases:,}", f"{r.share:.0%}", f"{r.low:.0%} to {r.high:.0%}")
        for r in counts.categories
    ]
    return [
        HeadingBlock(2, "Categories"),
        ParagraphBlock(counts.statement() + " Intervals: 95 %, Wilson. A case may have several categories."),
        Figure(shares(counts), "Share of cases by category, with 95 % intervals"),
        Table(("Category", "Description", "Cases", "Share", "95 % interval"), rows),
        *_table("Categories by model", counts.by_model),
        *_table("Categories by section type", counts.by_section),
    ]


def _table(title: str, of: CountTable) -> list[Block]:
    header = ["Category", *(f"{name} ({total:,})" for name, total in zip(of.columns, of.totals, strict=True))]
    rows = [[name, *(of.cell(i, j) for j in range(len(of.columns)))] for i, name in enumerate(of.categories)]
    return [HeadingBlock(3, title), Table(header, rows), ParagraphBlock(of.reading())]


def _samples(notebook: Notebook, options: ReportOptions) -> list[Block]:
    """Return a table for each random sample that has coded cases, unless the report is about one of them."""
    if options.scope.sample is not None:
        return []
    blocks: list[Block] = []
    for sample in notebook.samples:
        counts = count_categories(notebook, CountScope(options.scope.person, sample.id))
        if counts.coded:
            rows = [
                (r.category.name, f"{r.cases:,}", f"{r.share:.0%}", f"{r.low:.0%} to {r.high:.0%}")
                for r in counts.categories
            ]
            blocks += [
                HeadingBlock(3, f"Random sample: {sample.name}"),
                ParagraphBlock(f"{counts.statement()} Seed {sample.seed}."),
                Table(("Category", "Cases", "Share", "95 % interval"), rows),
            ]
    return blocks


def _agreement(notebook: Notebook, options: ReportOptions) -> list[Block]:
    pair = most_common_pair(notebook)
    if pair is None:
        return [HeadingBlock(2, "Agreement"), ParagraphBlock("Undefined because only one analyst has coded cases.")]
    found, names = agreement(notebook, pair), [options.name_of(person) for person in pair]
    rows = [(r.category.name, str(r.first), str(r.second), str(r.both), in_words(r.kappa)) for r in found.categories]
    everybody = in_words(agreement_of_all(notebook))
    return [
        HeadingBlock(2, "Agreement"),
        ParagraphBlock(
            f"Krippendorff's alpha of the sets of categories with the MASI distance (Passonneau 2006), all analysts: "
            f"{everybody}. {names[0]} and {names[1]}: {in_words(found.alpha)}, over {found.alpha.cases:,} "
            f"cases that both coded; they differ on {len(found.disagreements):,} of them. Per category, "
            "Cohen's kappa; all intervals are 95 % bootstrap intervals over cases."
        ),
        Table(("Category", f"Cases of {names[0]}", f"Cases of {names[1]}", "Both", "Cohen's kappa"), rows),
    ]


# --- examples ---------------------------------------------------------------------------------------------------------


def _examples(notebook: Notebook, counts: Counts, options: ReportOptions) -> list[Block]:
    """Return examples of every category, the most frequent first; cases with notes come before others."""
    codes, notes = codes_of(notebook, options.scope.person), notebook.notes_of()
    within = [c for c in notebook.cases if options.scope.sample in (None, c.sample_id)]
    ordered = sorted(within, key=lambda case: case.id not in notes)
    blocks: list[Block] = [HeadingBlock(2, "Examples")]
    for row in counts.categories:
        cases = [case for case in ordered if row.category.id in codes.get(case.id, ())]
        if cases:
            blocks += [HeadingBlock(3, f"{row.category.name} ({len(cases):,})")]
            blocks += [block for case in cases[: options.examples] for block in _case(case, notes, options)]
    left = [case for case in ordered if not codes.get(case.id)]
    if left:
        blocks += [HeadingBlock(3, f"Without a category ({len(left):,})")]
        blocks += [block for case in left[: options.examples] for block in _case(case, notes, options)]
    return blocks


def _case(case: ErrorCase, notes: Mapping[int, Sequence[ErrorNote]], options: ReportOptions) -> list[Block]:
    facts = case.facts
    blocks: list[Block] = [HeadingBlock(4, f"Case {case.id}: {case.kind.value}, {facts.source}")]
    blocks += [Quotation(_label(passage), passage.text) for passage in facts.passages[:_PASSAGES]]
    rest = facts.sentences - _PASSAGES
    said = [*facts.statements(), *([f"{rest:,} more sentences."] if rest > 0 else ())]
    blocks += [ParagraphBlock(" ".join(said))] if said else []
    written = [f"{options.name_of(note.person)}: {note.text}" for note in notes.get(case.id, ())]
    blocks += [ParagraphBlock(f"Note of {text}") for text in written]
    links = ("Open the case", options.case_address(case)), ("Open where it was found", options.origin_address(case))
    return [*blocks, LinkTargets(links)]


def _label(passage: Passage) -> str:
    place = " › ".join(part for part in (passage.article, passage.section) if part)
    parts = [_ROLES.get(passage.role, ""), place, passage.placed]
    return " · ".join(part for part in parts if part) + ":"


# --- what it was made with --------------------------------------------------------------------------------------------


def _made_with(store: Store, notebook: Notebook) -> list[Block]:
    """Return the models that cases name, as they are stored now, and the version of Themescope."""
    names = sorted({name for case in notebook.cases for name in (*case.facts.models, *case.facts.margins)})
    with store.reading() as r:
        known = {model.name: model for model in r.models.list()}
    rows = []
    for name in names:
        model = known.get(name) or next((m for n, m in known.items() if name.startswith(f"{n} ")), None)
        if model is None:
            rows.append((name, "no longer stored", "", ""))
        else:
            rows.append((name, model.method, f"{model.revision}, seed {model.seed}", model.digest[:12]))
    return [
        HeadingBlock(2, "Models and versions"),
        Table(("Model", "Method", "Revision", "Digest"), rows) if rows else ParagraphBlock("No case names a model."),
        ParagraphBlock(
            f"Made by Themescope {code_version()}. Distances, margins and clusters are those of the time at which a "
            "case was added; models may have changed since."
        ),
    ]


# --- files ------------------------------------------------------------------------------------------------------------


HEADER = (
    "case", "kind", "source", "article", "section", "predicted", "models", "margins", "sentences", "roles", "placed",
    "sentence_ids", "notes", "categories", "sample", "person", "created", "permalink",
)  # fmt: skip
_SEPARATOR = " | "


def jsonl(notebook: Notebook, address: Callable[[ErrorCase], str]) -> str:
    """Return one object per case; ``address`` returns the link to the view that a case was found in."""
    return json_lines(HEADER, _rows(notebook, address))


def csv(notebook: Notebook, address: Callable[[ErrorCase], str]) -> str:
    """Return one row per case; lists are joined by a vertical bar, and formulas are escaped."""
    return csv_text(HEADER, ([_flat(value) for value in row] for row in _rows(notebook, address)))


def _rows(notebook: Notebook, address: Callable[[ErrorCase], str]) -> Iterator[list[Any]]:
    notes, given = notebook.notes_of(), notebook.names_given()
    samples = {sample.id: sample.name for sample in notebook.samples}
    for case in notebook.cases:
        facts = case.facts
        yield [
            case.id, case.kind.value, facts.source, facts.article, facts.section, facts.predicted, list(facts.models),
            dict(facts.margins), [p.text for p in facts.passages], [p.role for p in facts.passages],
            [p.placed for p in facts.passages], list(case.sentence_ids),
            [{"person": note.person, "text": note.text} for note in notes.get(case.id, ())], given.get(case.id, {}),
            samples.get(case.sample_id or 0, ""), case.person, case.created, address(case),
        ]  # fmt: skip


def _flat(value: Any) -> Any:
    if isinstance(value, dict):
        return _SEPARATOR.join(f"{key}: {_flat(part)}" for key, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        texts = [f"{one['person']}: {one['text']}" if isinstance(one, dict) else str(one) for one in value]
        return _SEPARATOR.join(text for text in texts if text)
    return value
