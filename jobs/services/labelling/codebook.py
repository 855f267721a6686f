"""Codebooks of labellings as files, and schemes.

A scheme is the clusters of a labelling without its sentences, as the start of another labelling; as a file, it is the
codebook: names, themes, sizes and codebook entries.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from themescope.core.columns import as_text
from themescope.core.errors import DataError, ReadError
from themescope.core.labelling.changes import apply
from themescope.core.labelling.codebook import entries
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import (
    SENTENCES,
    PortableCode,
    codes,
    one_line,
    portable,
    reference,
    text_of,
)
from themescope.core.labelling.codebook.qda_project import codebook as qda_codebook
from themescope.core.labelling.codebook.qda_project import read_codebook
from themescope.core.labelling.markup import as_html, as_markdown
from themescope.core.labelling.partition import Partition
from themescope.core.readers.tables import TableForm, open_table, raw_cell
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Ids, ReadAccount
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common.importing.reading import call_apart
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.table_files import csv_text

CODE_FILES = ("qdc", "json", "csv")
"""Suffixes of files of codes that Themescope writes."""
MOST_MB = 20
"""Maximum size of a file of codes in MB."""
READ_FILES = (*CODE_FILES, "tsv", "xlsx", "txt")
"""Suffixes of files of codes that :func:`read_codes` reads."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A codebook as files hold it."""

    title: str
    about: str
    codes: list[PortableCode]
    seed: str
    """Text from which ids in REFI-QDA files follow."""


def exported(store: Store, labelling_id: int) -> Exported:
    """Return the present codebook of a labelling."""
    with store.reading() as r:
        record, snapshot = r.labellings.get(labelling_id), r.labellings.snapshot(labelling_id)
    return exported_from(store, record, snapshot.partition)


def exported_from(store: Store, record: LabellingRecord, partition: Partition) -> Exported:
    """Return the codebook of a labelling in a state of it."""
    listed = codes(partition)
    wanted = {id for code in listed for name in SENTENCES for id in getattr(code.entry, name)}
    with store.reading() as r:
        project = r.corpora.get(record.corpus_id).name
    about = f"Project {project}, {record.sentences:,} sentences"
    shown = portable(listed, references(store, np.array(sorted(wanted), dtype=np.int64)), partition.sizes())
    return Exported(record.name, about, shown, f"{record.id} {record.created.isoformat()}")


def references(store: Store, ids: Ids) -> dict[int, str]:
    """Return sentences by id, each as its text with its article and its number in it."""
    with store.reading() as r:
        found = r.corpora.sentences_by_id(ids)
        titles = r.corpora.articles_by_id({s.article_id for s in found.values()})
    return {id: reference(s.text, titles[s.article_id].title, s.position + 1) for id, s in found.items()}


def written(store: Store, labelling_id: int, suffix: str) -> str | bytes:
    """Return a codebook as a file for reading (``md``, ``html``) or with its codes (one of :data:`CODE_FILES`).

    The cells of CSV are safe for spreadsheets. Raises :class:`DataError` for a REFI-QDA file without clusters.
    """
    found = exported(store, labelling_id)
    if suffix == "json":
        return entries.json_text(found.title, found.codes)
    if suffix == "csv":
        return csv_text(entries.HEADER, entries.rows(found.codes))
    if suffix == "qdc":
        if not found.codes:
            raise DataError("There are no codes yet, and a REFI-QDA codebook needs one.")
        return qda_codebook(found.codes, found.seed)
    title = f"Codebook: {found.title}"
    blocks = entries.blocks(title, found.about, found.codes)
    return as_markdown(blocks) if suffix == "md" else as_html(blocks, title, entries.PRINTED)


def _codes_of_workbook(path: Path) -> tuple[list[PortableCode], ReadAccount]:
    account = ReadAccount()
    table = open_table(path, form=TableForm(header_row=1), account=account)
    return entries.from_rows(table.columns, (list(map(as_text, row)) for _, row in table.rows)), account


def read_codes(path: Path, account: ReadAccount | None = None) -> list[PortableCode]:
    """Return the codes of a file, whose suffix names its format; what is left out is counted in ``account``.

    Raises :class:`ReadError` or :class:`DataError` for a damaged file or another format.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if path.stat().st_size > MOST_MB * 1_000_000:
        raise ReadError(path, f"a file of codes may have {MOST_MB} MB.", "", "Check the file, or split it.")
    if suffix == "qdc":
        with path.open("rb") as stream:
            return read_codebook(stream, path.name, account)
    if suffix not in READ_FILES:
        raise DataError(f"A file of codes ends in {', '.join(READ_FILES)}; this one in {suffix or 'nothing'}.")
    if suffix == "xlsx":
        codes, found = call_apart(path, _codes_of_workbook, path)
        if account is not None:
            account.add(found)
        return codes
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if suffix == "txt":
            return entries.from_lines(text.splitlines())
        return entries.from_json(text) if suffix == "json" else _from_csv(text)
    except UnicodeDecodeError:
        raise ReadError(path, "this is not text in UTF-8.", "", "Export it again.") from None
    except csv.Error as error:
        raise ReadError(path, f"this is not a CSV table ({error}).", "", "Export it again.") from None


def _from_csv(text: str) -> list[PortableCode]:
    # Cells keep their line ends: each line of a cell of examples is one sentence.
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = [[raw_cell(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
    return entries.from_rows(rows[0] if rows else (), rows[1:])


def finder(store: Store, ids: Ids, wanted: Iterable[PortableCode]) -> Callable[[str], int | None]:
    """Return a function that finds the sentence of a reference in ``wanted`` among ``ids``; of equal texts, the first.

    The sentences are not read if the codes have no examples.
    """
    if not any(code.examples or code.counter_examples for code in wanted):
        return lambda shown: None
    known = references(store, ids)
    exact = {shown: id for id, shown in reversed(known.items())}
    by_text = {text_of(shown): id for id, shown in reversed(known.items())}
    return lambda shown: exact.get(one_line(shown), by_text.get(text_of(one_line(shown))))


def from_codes(codes: Sequence[PortableCode], file: str) -> starts.Begin:
    """Return the clusters of a file with all sentences unassigned.

    Examples in codebook entries are kept where the labelling has their sentences.
    """

    def initial(store: Store, new: NewLabelling) -> starts.Beginning:
        bare = starts.from_nothing(store, new).partition
        adopted = book.adopt(bare, codes, finder(store, bare.ids, codes), 1)
        return starts.Beginning(apply(bare, adopted.operation.change_set), {"from": "scheme", "name": file})

    return initial
