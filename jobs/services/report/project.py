"""Report of a project for people who were not there: data, themes, map, shares by column, labels, estimates, limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.columns import ColumnType
from themescope.core.errors import ConfigError, DataError
from themescope.core.estimates.report import REFERENCES as ESTIMATE_REFERENCES
from themescope.core.estimates.report import estimates
from themescope.core.estimates.shares import ShareEstimate, share
from themescope.core.labelling.markup import (
    Block,
    Cite,
    HeadingBlock,
    ParagraphBlock,
    Picture,
    Table,
    as_html,
    as_markdown,
    counted,
    paragraph_blocks,
)
from themescope.core.labelling.methods_section import REFERENCES, paragraphs
from themescope.core.metrics.crosstabs import share_intervals
from themescope.core.records.stored import ColumnRecord, CorpusRecord, EditKind, LabellingRecord, RunRecord
from themescope.core.text.languages import shares_text
from themescope.core.types import Estimate, Ids
from themescope.db.store import Store, Unit
from themescope.jobs.common.importing.waves import is_list, waves_of
from themescope.jobs.common.models import corpus_shares, language_note
from themescope.jobs.common.results import code_version
from themescope.jobs.services.estimates.study import Study, columns_of, groups_of, open_study
from themescope.jobs.services.labelling.agreement import coded_text, left_out
from themescope.jobs.services.labelling.methods import facts_of
from themescope.jobs.services.report.picture import numbered_picture
from themescope.jobs.services.report.word import as_docx
from themescope.jobs.services.themes import theme_arrays, theme_run

MOST_GROUPS = 6
"""Number of categories of a column that a table has, the most frequent ones."""


def report_file(store: Store, corpus: CorpusRecord, labellings: Sequence[LabellingRecord], suffix: str) -> bytes:
    """Return :func:`project_report` as a file; ``suffix`` is .html, .docx or .md, or :class:`ConfigError` is raised."""
    writers: dict[str, Callable[[Sequence[Block], str], bytes]] = {
        ".html": lambda blocks, title: as_html(blocks, title).encode(),
        ".docx": as_docx,
        ".md": lambda blocks, _: as_markdown(blocks).encode(),
    }
    if suffix.lower() not in writers:
        raise ConfigError(f"Reports are {', '.join(writers)} files, not {suffix or 'files without suffix'}.")
    return writers[suffix.lower()](project_report(store, corpus.id, labellings), f"Report of {corpus.name}")


def project_report(store: Store, corpus_id: int, labellings: Sequence[LabellingRecord]) -> list[Block]:
    """Return the report of a corpus with its newest themes, and with those of ``labellings`` that count.

    It is written by :mod:`themescope.core.labelling.markup`. Shares have 95 % intervals: those of themes say how much
    they could differ in another sample of sentences (Wilson 1927), those of codes are as in docs/estimates.md.
    """
    with store.reading() as r:
        corpus = r.corpora.get(corpus_id)
        runs = r.runs.themes(corpus_id, whole=True)
        columns = [c for c in columns_of(r, corpus_id).values() if c.type == ColumnType.CATEGORY]
        blocks: list[Block] = [
            HeadingBlock(1, f"Report of {corpus.name}"),
            ParagraphBlock(f"{datetime.now(UTC):%d %B %Y}, Themescope {code_version()}."),
            *_data(r, corpus),
        ]
        if runs:
            blocks += _themes(r, corpus, runs[-1], columns)
        coders = coded_text(r, labellings).coders if labellings else ()
        reasons = left_out(r, coders)
        counting = [coder.record for coder in coders if coder.record.id not in reasons]
        study = _study(r, labellings) if labellings else None
        rows = [(coder.record.name, f"{coder.placed.sum():,}", reasons.get(coder.record.id, "")) for coder in coders]
        if rows:
            blocks += [HeadingBlock(2, "Labels"), Table(("Labelling", "Sentences labelled", "Left out, because"), rows)]
        estimated = _estimates(r, study, columns) if study is not None else []
        model = r.models.get(runs[-1].model_id or 0) if runs else None
    if counting:
        blocks += paragraph_blocks(paragraphs(facts_of(store, [one.id for one in counting])), REFERENCES)
    note = "" if model is None else language_note(store, model, corpus_shares(corpus))
    limits = _limits(corpus, model is not None, study is not None, note)
    return [*blocks, *estimated, HeadingBlock(2, "Limits"), *map(ParagraphBlock, limits)]


# --- data -------------------------------------------------------------------------------------------------------------


def _data(r: Unit, corpus: CorpusRecord) -> list[Block]:
    """Return what the corpus has, where it comes from, and what was left out or changed."""
    documents = "" if is_list(corpus) else f" in {counted(corpus.articles, 'document')}"
    text = (
        f"{counted(corpus.sentences, corpus.unit.value)}{documents}, imported on {corpus.created:%d %B %Y}. "
        f"Languages: {shares_text(corpus_shares(corpus))}."
    )
    blocks: list[Block] = [HeadingBlock(2, "Data"), ParagraphBlock(text)]
    if waves := waves_of(corpus):
        rows = [(w["name"], w["date"] or "–", f"{w['sentences']:,}") for w in waves]
        blocks.append(Table(("Wave", "Date", "Sentences"), rows))
    if columns := r.columns.list(corpus.id):
        about = [(c.label, c.type, f"{c.about.get('missing', 0):,}") for c in columns]
        blocks.append(Table(("Column", "Type", "Missing values"), about))
    reasons = [
        (what, reason, f"{number:,}")
        for what, key in (("left out", "skipped"), ("changed", "changed"))
        for reason, number in corpus.report.get(key, {}).items()
    ]
    if reasons:
        blocks += [ParagraphBlock("At the import:"), Table(("What", "Reason", "Count"), reasons)]
    edits = [edit for edit in r.corpus_edits.list(corpus.id) if edit.undone is None]
    if edits:
        done = [(_EDITED[edit.kind], f"{edit.sentences:,}") for edit in edits]
        blocks += [ParagraphBlock("Since the import:"), Table(("What", "Sentences"), done)]
    return blocks


_EDITED = {EditKind.WAVE: "wave removed", EditKind.ARTICLES: "documents removed", EditKind.TEXT: "text corrected"}
"""Edits without the names of what was removed."""
_DENSITY = "as dense groups (UMAP, McInnes et al. 2018; HDBSCAN, Campello et al. 2013)"


# --- themes -----------------------------------------------------------------------------------------------------------


def _themes(r: Unit, corpus: CorpusRecord, run: RunRecord, columns: Sequence[ColumnRecord]) -> list[Block]:
    found, model = theme_run(r, run), r.models.get(run.model_id or 0)
    ids, numbers, margins = theme_arrays(r, run.id)
    sizes = np.bincount(numbers[numbers >= 0], minlength=len(found.themes))
    settings = run.config["settings"]
    how = _DENSITY if settings.get("density") else f"by {CLUSTERERS.get(settings['clusterer']).title}"
    how += ", each sentence encoded in the context of all" if settings.get("context") else ""
    number = run.config["reason"] or "The number of themes was given."
    rows = [
        (str(theme.number + 1), theme.name, f"{size:,}", share, theme.subtitle)
        for theme, size, share in zip(found.themes, sizes, _shares(sizes, np.full(len(sizes), len(ids))), strict=True)
    ]
    blocks: list[Block] = [
        HeadingBlock(2, "Themes"),
        ParagraphBlock(
            f"{counted(len(rows), 'theme')} of {counted(len(ids), 'sentence')}, found by {model.name} on "
            f"{run.created:%d %B %Y}, {how}. {number} Of the sentences, {(margins < 0).mean():.0%} are more similar to "
            "another theme than to their own. All shares are in percent, with 95 % intervals."
        ),
        Table(("No.", "Theme", "Sentences", "Share in %", "A central sentence"), rows),
    ]
    if left := int((numbers < 0).sum()):
        blocks.append(ParagraphBlock(f"{counted(left, 'sentence')} fit no theme."))
    maps = [one for one in r.maps.list(corpus.id) if one.model_id == run.model_id]
    if maps:
        points = r.maps.points(maps[-1].id)
        shown = np.isin(points.sentence_ids, ids)
        order = np.argsort(ids)
        of = numbers[order][np.searchsorted(ids[order], points.sentence_ids[shown])]
        kept = maps[-1].faithfulness
        faithful = "" if kept is None or np.isnan(kept) else f" Of the 15 nearest neighbours, {kept:.0%} are kept."
        caption = (
            f"Map of {counted(int(shown.sum()), 'sentence')}: each point is a sentence, and near points are similar. "
            f"The numbers are those of the themes.{faithful}"
        )
        if shown.any():
            blocks.append(Picture(numbered_picture(points.points[shown], of.astype(np.int32)), caption))
    articles = r.maps.places(ids).articles
    names = [f"{theme.number + 1}. {theme.name}" for theme in found.themes]
    for column in columns:
        blocks += _by_column(r, column, ids, articles, numbers, names)
    return blocks


def _by_column(
    r: Unit, column: ColumnRecord, ids: Ids, articles: Ids, numbers: Ids, names: Sequence[str]
) -> list[Block]:
    """Return the table of the shares of the themes within the most frequent categories of a column."""
    groups = r.columns.values(column, ids if column.level.value == "sentence" else articles)
    totals = np.bincount(groups[groups >= 0], minlength=len(column.categories))
    shown = [int(group) for group in np.argsort(-totals, kind="stable")[:MOST_GROUPS] if totals[group]]
    if len(shown) < 2:
        return []
    counts = np.zeros((len(names), len(totals)), np.int64)
    both = (groups >= 0) & (numbers >= 0)
    np.add.at(counts, (numbers[both], groups[both]), 1)
    header = ["Theme", *(f"{column.categories[group]} ({totals[group]:,})" for group in shown)]
    cells = [_shares(counts[:, group], np.full(len(names), totals[group])) for group in shown]
    blocks: list[Block] = [
        HeadingBlock(3, f"Themes by {column.label}"),
        Table(header, [(name, *line) for name, *line in zip(names, *cells, strict=True)]),
    ]
    others = int((totals > 0).sum()) - len(shown)
    missing = int((groups < 0).sum())
    notes = [
        f"{counted(others, 'further category', 'further categories')} not shown" if others else "",
        f"{counted(missing, 'sentence')} without a value" if missing else "",
    ]
    if told := "; ".join(note for note in notes if note):
        blocks.append(ParagraphBlock(f"{told}."))
    return blocks


def _shares(counts: np.ndarray, totals: np.ndarray) -> list[str]:
    return [
        "–" if np.isnan(value) else _percent(float(value), float(low), float(high))
        for value, low, high in zip(*share_intervals(counts, totals), strict=True)
    ]


# --- labels -----------------------------------------------------------------------------------------------------------


def _study(r: Unit, labellings: Sequence[LabellingRecord]) -> Study | None:
    """Return the study of the labelling with the newest predictions, else of the first one; None without labels."""
    predicted = [(found.created, one) for one in labellings if (found := r.predictions.newest(one.id)) is not None]
    chosen = max(predicted, key=lambda pair: pair[0])[1] if predicted else labellings[0]
    try:
        return open_study(r, [chosen])
    except DataError:
        return None


_HOW = (
    ("Sentences count by the probabilities with which they were sampled, and documents are the clusters of the "
     "intervals of 95 %.",),
    ("Corrected shares are those of prediction-powered inference with power tuning ", Cite("angelopoulos2023"),
     " for labels sampled with known probabilities ", Cite("egami2023"),
     ": the share by the machine, minus its error on the labelled sentences."),
)  # fmt: skip


def _estimates(r: Unit, study: Study, columns: Sequence[ColumnRecord]) -> list[Block]:
    overall = [share(study.units(code), name=code) for code in study.codes]
    ways = ["people", "machine", "corrected"] + (["least", "most"] if any(one.least for one in overall) else [])
    blocks: list[Block] = [
        HeadingBlock(2, "Shares of the codes"),
        ParagraphBlock(f"From {study.labellings[0].name}: labels of people"
                       + (f", corrected by the codes of {study.coder}." if study.coder else ".")
                       + " All shares are in percent, with 95 % intervals."),
        *map(ParagraphBlock, study.holds),
        Table(("Code", *(way.capitalize() for way in ways)), [
            (one.name, *(_interval(getattr(one, way)) for way in ways)) for one in overall
        ]),
    ]  # fmt: skip
    for column in columns:
        groups = groups_of(r, study, column)
        frequent = sorted({*groups} - {""}, key=lambda name: (-groups.count(name), name))[:MOST_GROUPS]
        if len(frequent) < 2:
            continue
        lines = []
        for code in study.codes:
            of = {one.name: one for one in estimates(study.units(code), groups)}
            lines.append((code, *(_interval(_best(of[name])) for name in frequent)))
        blocks += [HeadingBlock(3, f"Codes by {column.label}"), Table(("Code", *frequent), lines)]
    notes = [*study.notes, *dict.fromkeys(note for one in overall for note in one.warnings)]
    blocks += map(ParagraphBlock, notes)
    return [*blocks, *paragraph_blocks([_HOW if study.coder else _HOW[:1]], ESTIMATE_REFERENCES)]


def _best(one: ShareEstimate) -> Estimate | None:
    return one.corrected or one.people


def _interval(found: Estimate | None) -> str:
    return "–" if found is None else _percent(found.value, found.low, found.high)


def _percent(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _limits(corpus: CorpusRecord, themes: bool, labels: bool, note: str) -> list[str]:
    found = []
    if themes:
        found.append(
            "Themes are groups of similar sentences that a model found; nobody defined them. Their names are words "
            "that are frequent in them. Another model, or another number of themes, gives other groups."
        )
        found.append(
            "Intervals of shares of themes take sentences for a random sample of independent ones, and the themes as "
            "given: they leave out how the sentences were chosen, and the mistakes of the model."
        )
        if corpus.articles > 1 and not is_list(corpus):
            found.append("Sentences of a document depend on each other, so that these intervals are too narrow.")
    if note:
        found.append(note)
    if not labels:
        found.append("There are no labels of people from which the mistakes of the machine could be estimated.")
    return found
