"""Documents with reference summaries, from JSON lines or folders of DUC collections.

A folder contains ``documents/`` with one file per document, and ``references/`` with the summaries, both with any
subfolders. A document is plain text, or the ``<TEXT>`` of an SGML file; its id is the file name without suffix. A
reference is a plain file named after its document, with anything after a further dot (``d061j.txt``, ``d061j.A.txt``),
or a file of DUC with several ``<SUM … DOCREF="id">`` elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from themescope.core.errors import DataError, ReadError
from themescope.core.protocols import SILENT, Report
from themescope.core.readers.jsonl import summary_records
from themescope.core.readers.streams import whole_text
from themescope.core.text.splitting import SentenceSplitter, split_article

_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.S | re.I)
_SUM = re.compile(r"<SUM\b([^>]*)>(.*?)</SUM>", re.S | re.I)
_DOCREF = re.compile(r"""\bDOCREF\s*=\s*["']?([^"'\s>]+)""", re.I)
_TAG = re.compile(r"<[^>]{1,200}>")
_BLANK = re.compile(r"\n\s*\n|</P>", re.I)


@dataclass(frozen=True, slots=True)
class SummaryDocument:
    """Sentences of a document, and its reference summaries."""

    id: str
    title: str
    sentences: tuple[str, ...]
    references: tuple[str, ...]


def read_summary_documents(path: Path, language: str = "en", report: Report | None = None) -> list[SummaryDocument]:
    """Read a file of JSON lines (see ``themescope.core.readers.jsonl``) or a folder (see above), in order of ids.

    A document without references is kept, because it can be summarised, although not scored. Raises
    :class:`ReadError` for invalid files, and :class:`DataError` if no document has a sentence.
    """
    report, splitter = report or SILENT, SentenceSplitter(language)
    found = list((_folder if path.is_dir() else _file)(path, splitter, report))
    if not found:
        raise DataError(f"No document in {path.name!r} has a sentence.")
    return sorted(found, key=lambda document: document.id)


def _file(path: Path, splitter: SentenceSplitter, report: Report) -> Iterator[SummaryDocument]:
    for record in summary_records(path, report):
        if record.article is not None:
            sections = split_article(record.article, splitter).sections
            sentences = tuple(s for section in sections for p in section.paragraphs for s in p.sentences)
            yield SummaryDocument(record.id, record.article.title, sentences, record.references)


def _folder(path: Path, splitter: SentenceSplitter, report: Report) -> Iterator[SummaryDocument]:
    for name in ("documents", "references"):
        if not (path / name).is_dir():
            advice = "Put the documents into documents/ and their summaries into references/."
            raise ReadError(path, f"the folder does not contain a folder {name!r}.", advice=advice)
    files = _files(path / "documents")
    ids = {_id(file) for file in files}
    references = _references(path / "references", ids)
    for number, file in enumerate(files):
        report.progress(number, len(files), f"{number:,} documents read")
        text = whole_text(file, SILENT, "latin-1")
        inside = " \n\n ".join(_TEXT.findall(text)) or text
        blocks = (" ".join(_TAG.sub(" ", block).split()) for block in _BLANK.split(inside))
        sentences = tuple(sentence for block in blocks for sentence in splitter.split(block))
        if sentences:
            yield SummaryDocument(_id(file), file.name, sentences, tuple(references.get(_id(file), ())))


def _files(folder: Path) -> list[Path]:
    return sorted(f for f in folder.rglob("*") if f.is_file() and not f.name.startswith(".") and f.stat().st_size)


def _id(file: Path) -> str:
    return file.stem if file.suffix.lower() in (".txt", ".sgm", ".sgml", ".xml", ".html") else file.name


def _references(folder: Path, ids: set[str]) -> dict[str, list[str]]:
    """Return document id → summaries. Raises :class:`ReadError` for a file that belongs to no document."""
    found: dict[str, list[str]] = {}
    for file in _files(folder):
        text = whole_text(file, SILENT, "latin-1")
        elements = _SUM.findall(text)
        for attributes, inner in elements:
            named = _DOCREF.search(attributes)
            if named:
                found.setdefault(named.group(1), []).append(" ".join(_TAG.sub(" ", inner).split()))
        if not elements:
            id = next((i for i in sorted(ids, key=len, reverse=True) if f"{_id(file)}.".startswith(f"{i}.")), None)
            if id is None:
                advice = "Name it after its document, such as d061j.txt or d061j.A.txt."
                raise ReadError(file, "this summary belongs to no document.", advice=advice)
            found.setdefault(id, []).append(" ".join(text.split()))
    return found
