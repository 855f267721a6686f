"""Report of an error analysis: counts, figures, agreement, examples with links, and what it was made with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from themescope.core.labelling.error_cases import NEGATIVE, PIVOT, POSITIVE, Passage
from themescope.core.labelling.markup import Block, Figure, HeadingBlock, LinkTargets, ParagraphBlock, Quotation, Table
from themescope.db.notebook_records import ErrorCase, ErrorNote, Notebook
from themescope.db.store import Store
from themescope.jobs.common.results import code_version
from themescope.jobs.services.notebook import agreement, figures
from themescope.jobs.services.notebook.counts import Counts, CountScope, CountTable, codes_of, count_categories

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
    people = ", ".join(options.name_of(person) for person in agreement.analysts(notebook)) or "nobody yet"
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
        Figure(figures.shares(counts), "Share of cases by category, with 95 % intervals"),
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
    pair = agreement.most_common_pair(notebook)
    if pair is None:
        return [HeadingBlock(2, "Agreement"), ParagraphBlock("Undefined because only one analyst has coded cases.")]
    found, names = agreement.agreement(notebook, pair), [options.name_of(person) for person in pair]
    rows = [
        (r.category.name, str(r.first), str(r.second), str(r.both), agreement.in_words(r.kappa))
        for r in found.categories
    ]
    everybody = agreement.in_words(agreement.agreement_of_all(notebook))
    return [
        HeadingBlock(2, "Agreement"),
        ParagraphBlock(
            f"Krippendorff's alpha of the sets of categories with the MASI distance (Passonneau 2006), all analysts: "
            f"{everybody}. {names[0]} and {names[1]}: {agreement.in_words(found.alpha)}, over {found.alpha.cases:,} "
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
