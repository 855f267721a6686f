"""Report of a project, and the files that it is written as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from io import BytesIO

import numpy as np

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.columns import ColumnType
from themescope.core.errors import ConfigError
from themescope.core.estimates.report import REFERENCES as ESTIMATE_REFERENCES
from themescope.core.estimates.report import count_text, estimates
from themescope.core.estimates.shares import COUNTED, share
from themescope.core.labelling.agreement import CodingAgreement
from themescope.core.labelling.markup import (
    NOT_IN_XML,
    Block,
    Cite,
    Explained,
    Figure,
    HeadingBlock,
    LinkTargets,
    ParagraphBlock,
    Picture,
    Quotation,
    Sentence,
    Table,
    Together,
    as_html,
    as_markdown,
    counted,
    paragraph_blocks,
)
from themescope.core.labelling.methods_section import REFERENCES, agreement, paragraphs, people
from themescope.core.metrics.coding_agreement import Agreement
from themescope.core.metrics.statistics import share_intervals
from themescope.core.records.stored import ColumnRecord, CorpusRecord, EditKind, LabellingRecord, RunRecord
from themescope.core.text.cleaning import folded_name
from themescope.core.text.languages import shares_text
from themescope.core.types import Estimate, Ids, Labels, Points
from themescope.db.store import Store, Unit
from themescope.jobs.common.articles import code_version
from themescope.jobs.common.columns import is_list, waves_of
from themescope.jobs.common.models import corpus_shares, language_note
from themescope.jobs.services.estimates import Study, columns_of, groups_of, usual_study
from themescope.jobs.services.labelling.agreement import coded_text, left_out
from themescope.jobs.services.labelling.codebook import facts_of
from themescope.jobs.services.selections import theme_arrays, theme_run

# Report of a project for people who were not there, as web page, Word and Markdown, with a picture of its map

_REFERENCES = {**REFERENCES, **ESTIMATE_REFERENCES}
MOST_GROUPS, MOST_THEMES = 6, 12
"""Number of categories of a column that a table has, the most frequent ones; of themes in the short report."""


def report_file(
    store: Store, corpus: CorpusRecord, labellings: Sequence[LabellingRecord], suffix: str, long: bool = False
) -> bytes:
    """Return :func:`project_report` as a file; ``suffix`` is .html, .docx or .md, or :class:`ConfigError` is raised."""
    writers: dict[str, Callable[[Sequence[Block], str], bytes]] = {
        ".html": lambda blocks, title: as_html(blocks, title).encode(),
        ".docx": as_docx,
        ".md": lambda blocks, _: as_markdown(blocks).encode(),
    }
    if suffix.lower() not in writers:
        raise ConfigError(f"Reports are {', '.join(writers)} files, not {suffix or 'files without suffix'}.")
    return writers[suffix.lower()](project_report(store, corpus.id, labellings, long), f"Report of {corpus.name}")


def project_report(
    store: Store, corpus_id: int, labellings: Sequence[LabellingRecord], long: bool = False
) -> list[Block]:
    """Return the report of a corpus with its newest themes, and with those of ``labellings`` that count.

    It has about two pages: question, data, codes or themes with their shares, agreement, method and limits. A ``long``
    one also has tables of the data, both codes and themes by each column, the map, and the methods section.

    It is written by :mod:`themescope.core.labelling.markup`. Shares have 95 % intervals: those of themes say how much
    they could differ in another sample of sentences (Wilson 1927), those of codes are as in docs/estimates.md.
    """
    with store.reading() as r:
        corpus = r.corpora.get(corpus_id)
        runs = r.runs.themes(corpus_id, whole=True)[-1:]
        columns = [c for c in columns_of(r, corpus_id).values() if c.type == ColumnType.CATEGORY]
        coders = coded_text(r, labellings).coders if labellings else ()
        reasons = left_out(r, coders)
        study = usual_study(r, labellings)
        told = runs if long or study is None else []
        themes = [block for run in told for block in _themes(r, corpus, run, columns, long)]
        data = _data(r, corpus, long)
        model = r.models.get(runs[0].model_id or 0) if runs else None
    counting = [coder.record.id for coder in coders if coder.record.id not in reasons]
    facts = facts_of(store, counting) if counting else None
    coding, units = None if facts is None else facts.coding, counted(corpus.sentences, "unit")
    blocks: list[Block] = [
        HeadingBlock(1, f"Report of {corpus.name}"),
        ParagraphBlock(f"{datetime.now(UTC):%d %B %Y}, Themescope {code_version()}."),
        HeadingBlock(2, "Question"),
        ParagraphBlock(
            f"How many of the {units} have each of {counted(len(study.codes), 'code')}?"
            if study is not None
            else f"Which themes are in the {units}, and how large is each of them?"
        ),
        HeadingBlock(2, "Data"),
        *data,
        *themes,
    ]
    limits = _limits(corpus) if themes else []
    if study is not None:
        with store.reading() as r:
            shares, notes = _estimates(r, study, columns if long else [], coding)
        blocks += shares
        limits = [*notes, *([_MISTAKES] if coding is not None else []), *limits]
    else:
        limits.append("There are no codes of people from which the mistakes of the machine could be estimated.")
    if long and coders:
        rows = [(c.record.name, f"{c.placed.sum():,}", reasons.get(c.record.id, "")) for c in coders]
        blocks += [HeadingBlock(2, "Codings"), Table(("Coding", "Units coded", "Left out, because"), rows)]
    agreed = [agreement(coding)[:2]] if coding is not None and not long else []
    of_people = [] if facts is None else paragraphs(facts) if long else [people(facts)]
    method = [*of_people, *_how(study)]
    for title, sentences in (("Agreement", agreed), ("Method", method)):
        if sentences:  # without their references, which are at the end
            written = paragraph_blocks(sentences, _REFERENCES)
            blocks += [HeadingBlock(2, title), *(block for block in written if isinstance(block, ParagraphBlock))]
    if note := "" if model is None else language_note(store, model, corpus_shares(corpus)):
        limits.append(note)
    cited = [block for block in paragraph_blocks([*agreed, *method], _REFERENCES) if isinstance(block, Explained)]
    return [*blocks, HeadingBlock(2, "Limits"), *map(ParagraphBlock, limits), *cited]


def _data(r: Unit, corpus: CorpusRecord, long: bool) -> list[Block]:
    """Return what the corpus has, where it comes from, and what was left out or changed."""
    documents = "" if is_list(corpus) else f" in {counted(corpus.articles, 'document')}"
    columns, done = r.columns.list(corpus.id), Counter[str]()
    for edit in r.corpus_edits.list(corpus.id):
        if edit.undone is None:
            done[_EDITED[edit.kind]] += edit.sentences
    reasons = [
        f"{number:,} {what} ({reason})"
        for what, key in (("left out", "skipped"), ("changed", "changed"))
        for reason, number in corpus.report.get(key, {}).items()
    ]
    parts = {
        "Languages": [shares_text(corpus_shares(corpus))],
        "Waves": [f"{w['name']} ({w['sentences']:,})" for w in waves_of(corpus)],
        "Columns": [] if long else [column.label for column in columns],
        "At the import": reasons,
    }
    told = [f"{name}: {', '.join(listed)}." for name, listed in parts.items() if listed]
    units = counted(corpus.sentences, "unit")
    blocks: list[Block] = [
        ParagraphBlock(" ".join([f"{units}{documents}, imported on {corpus.created:%d %B %Y}.", *told]))
    ]
    if done:
        blocks.append(ParagraphBlock(f"Since the import: {', '.join(f'{what} ({n:,})' for what, n in done.items())}."))
    if columns and long:
        about = [(c.label, c.type, f"{c.about.get('missing', 0):,}") for c in columns]
        blocks.append(Table(("Column", "Type", "Missing values"), about))
    return blocks


_EDITED = {EditKind.WAVE: "wave removed", EditKind.ARTICLES: "documents removed", EditKind.TEXT: "text corrected"}
"""Edits without the names of what was removed."""
_DENSITY = "as groups of a layout (UMAP, McInnes et al. 2018; Ward 1963; before 0.3.1 HDBSCAN, Campello et al. 2013)"


def _themes(r: Unit, corpus: CorpusRecord, run: RunRecord, columns: Sequence[ColumnRecord], long: bool) -> list[Block]:
    found, model = theme_run(r, run), r.models.get(run.model_id or 0)
    ids, numbers, margins = theme_arrays(r, run.id)
    sizes = np.bincount(numbers[numbers >= 0], minlength=len(found.themes))
    settings = run.found["settings"]
    how = _DENSITY if settings.get("density") else f"by {CLUSTERERS.get(settings['clusterer']).title}"
    how += ", each unit encoded in the context of all" if settings.get("context") else ""
    number = run.found["reason"] or "The number of themes was given."
    rows = [
        (str(theme.number + 1), theme.name, f"{size:,}", share, theme.subtitle)
        for theme, size, share in zip(found.themes, sizes, _shares(sizes, np.full(len(sizes), len(ids))), strict=True)
    ]
    blocks: list[Block] = [
        HeadingBlock(2, "Themes"),
        ParagraphBlock(
            f"{counted(len(rows), 'theme')} of {counted(len(ids), 'unit')}, found by {model.name} on "
            f"{run.created:%d %B %Y}, {how}. {number} Of the units, {(margins < 0).mean():.0%} are more similar to "
            "another theme than to their own. All shares are in percent, with 95 % intervals."
        ),
        Table(("No.", "Theme", "Units", "Share in %", "A central unit"), rows if long else rows[:MOST_THEMES]),
    ]
    if len(rows) > MOST_THEMES and not long:
        blocks.append(ParagraphBlock(f"{counted(len(rows) - MOST_THEMES, 'smaller theme')} not shown."))
    if left := int((numbers < 0).sum()):
        blocks.append(ParagraphBlock(f"{counted(left, 'unit')} fit no theme."))
    if not long:
        return blocks
    maps = [one for one in r.maps.list(corpus.id) if one.model_id == run.model_id]
    if maps:
        points = r.maps.points(maps[-1].id)
        shown = np.isin(points.sentence_ids, ids)
        order = np.argsort(ids)
        of = numbers[order][np.searchsorted(ids[order], points.sentence_ids[shown])]
        kept = maps[-1].faithfulness
        faithful = "" if kept is None or np.isnan(kept) else f" Of the 15 nearest neighbours, {kept:.0%} are kept."
        caption = (
            f"Map of {counted(int(shown.sum()), 'unit')}: each point is a unit, and near points are similar. "
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
        f"{counted(missing, 'unit')} without a value" if missing else "",
    ]
    if told := "; ".join(note for note in notes if note):
        blocks.append(ParagraphBlock(f"{told}."))
    return blocks


def _shares(counts: np.ndarray, totals: np.ndarray) -> list[str]:
    return [
        "–" if np.isnan(value) else _percent(float(value), float(low), float(high))
        for value, low, high in zip(*share_intervals(counts, totals), strict=True)
    ]


def _how(study: Study | None) -> list[list[Sentence]]:
    if study is None or study.counted:
        return []
    sampled = (
        "Units count by the probabilities with which they were sampled, and documents"
        if (study.probabilities is not None)
        else "All units that people coded count alike, and documents"
    )
    told: list[Sentence] = [(f"{sampled} are the groups of the intervals of 95 %.",)]
    if study.coder:
        told.append(
            (
                "Corrected shares are those of prediction-powered inference with power tuning ",
                Cite("angelopoulos2023"),
                " for codes sampled with known probabilities ",
                Cite("egami2023"),
                ": the share by the machine, minus its error on the units that people coded.",
            )
        )
    return [told]


def _estimates(
    r: Unit, study: Study, columns: Sequence[ColumnRecord], coding: CodingAgreement | None
) -> tuple[list[Block], list[str]]:
    """Return the shares of the codes, beside the agreement on each, and what limits them.

    Without a random sample, they are the numbers of units with the codes as they are now.
    """
    if study.counted:
        return _counts(r, study, columns), [*study.holds, COUNTED]
    overall = [share(study.units(code), name=code) for code in study.codes]
    ways = {way: way.capitalize() for way in ("people", "machine", "corrected")} if study.coder else {"people": "Share"}
    if study.coder and any(one.least for one in overall):
        ways |= {"least": "Least", "most": "Most"}
    alpha = {folded_name(code.name): _alpha(code.alpha) for code in (coding.codes if coding is not None else ())}
    corrected = f", corrected by the codes of {study.coder}" if study.coder else ""
    told = (
        f"From {study.labellings[0].name}: codes of people{corrected}. All shares are in percent, with 95 % intervals."
    )
    header: tuple[str, ...] = ("Code", *ways.values())
    rows = [(one.name, *(_interval(getattr(one, way)) for way in ways)) for one in overall]
    if alpha:
        header, rows = (*header, "Alpha"), [(*row, alpha.get(folded_name(row[0]), "–")) for row in rows]
    heading = HeadingBlock(2, f"Shares of the codes in {study.frame}")
    blocks: list[Block] = [heading, ParagraphBlock(told), Table(header, rows)]
    for column in columns:
        groups = groups_of(r, study, column)
        frequent = sorted({*groups} - {""}, key=lambda name: (-groups.count(name), name))[:MOST_GROUPS]
        if len(frequent) < 2:
            continue
        lines = []
        for code in study.codes:
            of = {one.name: one for one in estimates(study.units(code), groups)}
            lines.append((code, *(_interval(of[name].corrected or of[name].people) for name in frequent)))
        blocks += [HeadingBlock(3, f"Codes by {column.label}"), Table(("Code", *frequent), lines)]
    return blocks, [*study.holds, *study.notes, *dict.fromkeys(note for one in overall for note in one.warnings)]


def _counts(r: Unit, study: Study, columns: Sequence[ColumnRecord]) -> list[Block]:
    """Return how many units have each code now, in all and by column."""
    every = {code: share(study.units(code)) for code in study.codes}
    blocks: list[Block] = [
        HeadingBlock(2, "Units with the codes"),
        ParagraphBlock(f"From {study.labellings[0].name}. {study.counted}."),
        Table(("Code", "Units with the code"), [(code, count_text(one)) for code, one in every.items()]),
    ]
    for column in columns:
        groups = groups_of(r, study, column)
        frequent = [name for name, _ in Counter(filter(None, groups)).most_common(MOST_GROUPS)]
        found = {code: {one.name: one for one in estimates(study.units(code), groups)} for code in study.codes}
        lines = [(code, *(count_text(of[name]) for name in frequent)) for code, of in found.items()]
        blocks += [HeadingBlock(3, f"Codes by {column.label}"), Table(("Code", *frequent), lines)] if lines else []
    return blocks


def _alpha(found: Agreement) -> str:
    e = found.estimate
    return "–" if e is None else f"{e.value:.2f}" + (f" ({e.low:.2f} to {e.high:.2f})" if e.low < e.high else "")


def _interval(found: Estimate | None) -> str:
    return "–" if found is None else _percent(found.value, found.low, found.high)


def _percent(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})"


_MISTAKES = "Intervals of the shares of codes leave out the mistakes of people; alpha says how far they agree."


def _limits(corpus: CorpusRecord) -> list[str]:
    found = [
        "Themes are groups of similar units that a model found; nobody defined them. Their names are words "
        "that are frequent in them. Another model, or another number of themes, gives other groups.",
        "Intervals of shares of themes take units for a random sample of independent ones, and the themes as "
        "given: they leave out how the units were chosen, and the mistakes of the model.",
    ]
    if corpus.articles > 1 and not is_list(corpus):
        found.append("Units of a document depend on each other, so that these intervals are too narrow.")
    return found


# Documents of blocks as Word files

_WIDTH, _MARGIN = 17.0, 2.0
"""Width of the text on a page of A4, and its margins, in cm."""


def as_docx(blocks: Sequence[Block], title: str) -> bytes:
    """Return a Word document. Of charts as SVG, which Word reads only in part, it has the captions."""
    from docx import Document
    from docx.oxml import OxmlElement
    from docx.shared import Cm, Pt

    document = Document()
    for section in document.sections:
        section.left_margin = section.right_margin = section.top_margin = section.bottom_margin = Cm(_MARGIN)
        section.page_width, section.page_height = Cm(_WIDTH + 2 * _MARGIN), Cm(29.7)
    document.core_properties.title, document.core_properties.author = _printable(title)[:255], ""
    for block in blocks:
        for part in block.blocks if isinstance(block, Together) else (block,):
            match part:
                case Table(header, rows):
                    table = document.add_table(rows=0, cols=len(header), style="Light Grid Accent 1")
                    widths = [Cm(width) for width in _widths(header, rows)]
                    for cells in (header, *rows):
                        for cell, text, width in zip(table.add_row().cells, cells, widths, strict=True):
                            cell.width = width
                            cell.paragraphs[0].add_run(_printable(text)).font.size = Pt(8)
                    for column, width in zip(table.columns, widths, strict=True):
                        column.width = width  # LibreOffice reads the widths of columns, Word those of cells
                    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))  # on each page
                    document.add_paragraph()
                case Picture(png):
                    document.add_picture(BytesIO(png), width=Cm(_WIDTH))
            for style, text in _styled(part):
                document.add_paragraph(_printable(text), style)
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[float]:
    """Return the widths of columns in cm: longer texts are wider, and no word is divided if that is possible."""
    columns = list(zip(header, *rows, strict=True))
    words = [max((len(word) for cell in column for word in cell.split()), default=1) for column in columns]
    lengths = [max(map(len, column)) for column in columns]
    wanted = [max(0.2 * word + 0.4, 0.55 * length**0.5) for word, length in zip(words, lengths, strict=True)]
    return [_WIDTH * one / sum(wanted) for one in wanted]


def _styled(block: Block) -> list[tuple[str, str]]:
    """Return the paragraphs of a block, each with the name of its style in Word."""
    match block:
        case HeadingBlock(level, text, note):
            return [(f"Heading {level}", f"{text} ({note})" if note else text)]
        case ParagraphBlock(text):
            return [("Normal", text)]
        case Quotation(label, text):
            return [("Quote", f"{label} {text}".strip())]
        case LinkTargets(targets):
            return [("Normal", "; ".join(f"{text}: {url}" for text, url in targets))]
        case Explained(term, text):
            return [
                ("Heading 4", term),
                *(("List Bullet", item) for item in ([text] if isinstance(text, str) else text)),
            ]
        case Picture() | Figure():
            return [("Caption", block.caption)]
    return []


def _printable(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)


# Picture of a map for documents: points in the colours of their groups, with the number of each group

# Paul Tol's "muted" scheme (SRON/EPS/TN/09-002), reordered so that neighbours differ most.
PALETTE = ("#1b7f79", "#c2542d", "#4a5fb0", "#a8891b", "#8a2f6b", "#3f8f3f", "#2f89c5", "#c0587e", "#6b6b2a")
_PICTURE_WIDTH, _HEIGHT, _EDGE = 1800, 1200, 60
_PAPER, _INK, _NONE = "#ffffff", "#1f2a33", "#b9bcc0"


def numbered_picture(points: Points, labels: Labels) -> bytes:
    """Return a PNG image of (n, 2) points, n ≥ 1, with "1" at the median of the points with label 0, and so on.

    Points with the label -1 are grey, and have no number. Both axes have the same scale.
    """
    from PIL import Image, ImageDraw, ImageFont

    low, high = points.min(axis=0), points.max(axis=0)
    step = max(
        float(high[0] - low[0]) / (_PICTURE_WIDTH - 2 * _EDGE), float(high[1] - low[1]) / (_HEIGHT - 2 * _EDGE), 1e-9
    )
    centred = (points - (low + high) / 2) / step
    places = np.stack([_PICTURE_WIDTH / 2 + centred[:, 0], _HEIGHT / 2 - centred[:, 1]], axis=1)
    image = Image.new("RGB", (_PICTURE_WIDTH, _HEIGHT), _PAPER)
    draw = ImageDraw.Draw(image)
    radius = float(np.clip(240 / np.sqrt(len(points)), 1.5, 8))
    for (x, y), label in zip(places.tolist(), labels.tolist(), strict=True):
        colour = _NONE if label < 0 else PALETTE[label % len(PALETTE)]
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
    font = ImageFont.load_default(size=34)
    for label in np.unique(labels[labels >= 0]).tolist():
        middle = np.median(places[labels == label], axis=0)
        draw.text(
            (float(middle[0]), float(middle[1])),
            str(label + 1),
            font=font,
            anchor="mm",
            fill=_INK,
            stroke_width=5,
            stroke_fill=_PAPER,
        )
    stream = BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()
