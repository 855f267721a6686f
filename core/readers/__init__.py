"""Readers of files: articles with sections and paragraphs. Cards only; nothing heavy is imported.

Tags: ``split`` the file contains sentences that are already split; ``topics`` documents have a topic; ``latin-1`` the
file is read as ISO 8859-1, or in the encoding that its letters show; ``text`` the reader accepts any running text, so
its detector runs last; ``table`` the file has columns, from which a person chooses that of the texts; ``folders``
folders of Hugging Face datasets are read, too; ``binary`` the file is not text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from themescope.core.registry import Card, Registry


@dataclass(frozen=True, slots=True)
class ReaderCard(Card):
    """Declaration of a reader and of its file format."""

    detector: str = ""
    """``"module:function"``: a function that recognises the format in a ``FileHead`` (``core.readers.streams``); by
    default ``recognises`` in the module of the reader."""
    sample: str = ""
    """``"module:NAME"`` of the bytes of a tiny file in this format; by default ``SAMPLE`` in that module."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of its files, without dots; compressed files are accepted in addition."""

    def __post_init__(self) -> None:
        """Fill in the detector and the sample."""
        module = self.factory.partition(":")[0]
        object.__setattr__(self, "detector", self.detector or f"{module}:recognises")
        object.__setattr__(self, "sample", self.sample or f"{module}:SAMPLE")


def _card(
    id: str, title: str, summary: str, source: str, reader: str, suffixes: str, own: str = "", **more: Any
) -> ReaderCard:
    """Return a card; ``reader`` is below this package, its config by default ``…Config`` beside it.

    ``own`` is in the names of the detector and the sample of a reader that shares its module.
    """
    factory = f"{__name__}.{reader}"
    tags, config = frozenset(more.pop("tags", "").split()), more.pop("config", f"{factory}Config")
    if own:
        module = factory.partition(":")[0]
        more |= {"detector": f"{module}:recognises_{own}", "sample": f"{module}:{own.upper()}_SAMPLE"}
    return ReaderCard(id, title, summary, source, factory, config, tags, suffixes=tuple(suffixes.split()), **more)


def _document(*texts: str, **more: Any) -> ReaderCard:
    return _card(*texts, tags="binary", config=f"{__name__}.blocks:DocumentConfig", **more)


REGISTRY = Registry(
    "reader",
    [
        _card(
            "mediawiki-dump",
            "MediaWiki XML dump",
            "Articles of the export of a wiki (.xml, also compressed with bz2, gzip or xz), without markup.",
            "mediawiki.org, Help:Export and Help:Formatting",
            "mediawiki_dump:MediawikiDump",
            suffixes="xml",
            revision=2,
        ),
        _document(
            "tei",
            "TEI (ParlaMint, editions, plays)",
            "Paragraphs and speeches, with speaker, party, role and date as columns. Headers and notes are listed.",
            "TEI P5; ParlaMint 4",
            "documents.tei:Tei",
            suffixes="xml",
        ),
        _card(
            "reuters-sgml",
            "Reuters-21578 (SGML)",
            "Newswire stories with a topic and the ModApte split: the 22 files of distribution 1.0.",
            "Saha et al. 2017, section 4.1; Lewis 1997, Reuters-21578, distribution 1.0",
            "published:ReutersSgml",
            suffixes="sgm",
            own="reuters",
            tags="topics latin-1",
        ),
        _document(
            "word",
            "Word document",
            "A DOCX file under its headings. Tables, notes, comments, headers and footers are listed.",
            "ECMA-376, part 1, section 17: WordprocessingML",
            "documents.word:Word",
            suffixes="docx",
            revision=2,
        ),
        _document(
            "open-document",
            "OpenDocument text",
            "An ODT file under its headings. Tables, notes, comments, headers and footers are listed.",
            "OASIS OpenDocument 1.3, part 3",
            "documents.open_document:OpenDocument",
            suffixes="odt",
        ),
        _document(
            "pdf",
            "PDF with text",
            "A PDF file: paragraphs and headings from the places and sizes of its characters, read by PDFium.",
            "ISO 32000-2",
            "documents.pdf:Pdf",
            suffixes="pdf",
            revision=2,
        ),
        _document(
            "rtf",
            "Rich Text Format",
            "An RTF file under its headings. Tables, notes, comments, headers and footers are listed.",
            "Microsoft, RTF 1.9.1",
            "documents.rtf:Rtf",
            suffixes="rtf",
            revision=3,
        ),
        _document(
            "epub",
            "Electronic book (EPUB)",
            "The chapters of a book in reading order.",
            "W3C, EPUB 3.3",
            "documents.open_document:Epub",
            suffixes="epub",
            own="epub",
            revision=2,
        ),
        _card(
            "latex",
            "LaTeX",
            "A LaTeX document under its headings. Floats, notes and comments are listed.",
            "LaTeX2e, parsed by pylatexenc",
            "documents.latex:Latex",
            suffixes="tex",
            tags="latin-1",
            revision=3,
        ),
        _document(
            "saved-page",
            "Saved web page (MHTML)",
            "A page that a browser has saved as one file, read as HTML.",
            "RFC 2557",
            "documents.mail:SavedPage",
            suffixes="mht mhtml",
            own="mhtml",
        ),
        _card(
            "mail",
            "Mail (EML, MBOX)",
            "Messages with sender and date. Quoted replies, signatures and attachments are listed.",
            "RFC 5322; RFC 4155",
            "documents.mail:Mail",
            suffixes="mbox eml",
            tags="binary",
            revision=3,
        ),
        _card(
            "html",
            "HTML page",
            "The running text of a web page under its headings. Menus, tables and what is hidden are listed.",
            "HTML Living Standard, sections 4.3, 4.4 and 13.2.5",
            "html:Html",
            suffixes="html htm",
            tags="latin-1",
            revision=4,
        ),
        _card(
            "scb-csv",
            "Sentence Clustering Benchmark (CSV)",
            "One sentence per row with Article Title, Sentence, SectionTitle and Article Link.",
            "Ein Dor et al. 2018, section 3.3: IBM Debater Thematic Clustering of Sentences 1.0.2",
            "published:ScbCsv",
            suffixes="csv",
            own="scb",
            tags="split",
            config="themescope.core.config:Config",
        ),
        _card(
            "summaries",
            "Documents with summaries (JSON lines)",
            "The documents of a summarisation collection, without their reference summaries.",
            "Saha et al. 2017, section 4.3; the format of scisummnet (Yasunaga et al. 2019) and BillSum",
            "jsonl:Summaries",
            suffixes="jsonl",
            own="summaries",
            revision=2,
        ),
        _card(
            "newsgroups",
            "20 Newsgroups",
            "Usenet messages whose group is their topic: message files, their tar archive, or JSON lines.",
            "Saha et al. 2017, section 4.1; Lang 1995; Rennie 2008 (the “bydate” version)",
            "published:Newsgroups",
            suffixes="tar jsonl txt",
            own="newsgroups",
            tags="topics",
            revision=2,
        ),
        _card(
            "subtitles",
            "Subtitles (SRT, WebVTT, SBV, ASS), transcribed speech",
            "Subtitles and segments of speech, joined to sentences; speaker and time are columns.",
            "SubRip; WebVTT (W3C); SBV of YouTube; Advanced SubStation Alpha; Whisper; AssemblyAI; Deepgram; Amazon",
            "documents.transcripts:Subtitles",
            suffixes="vtt srt sbv ass ssa",
            config=f"{__name__}.plain_text:TextConfig",
            tags="latin-1",
            own="subtitles",
            revision=3,
        ),
        _card(
            "references",
            "References (RIS, MEDLINE, BibTeX, EndNote, Web of Science), press archives",
            "References with their abstracts, articles of Nexis and Factiva (also Word, RTF); the fields are columns.",
            "RIS; PubMed, MEDLINE display format; BibTeX; EndNote export; Web of Science tags; Nexis Uni; Factiva",
            "references:References",
            suffixes="ris nbib bib enw ciw txt",
            config=f"{__name__}.plain_text:TextConfig",
            tags="latin-1",
        ),
        _card(
            "table",
            "Table or Hugging Face dataset",
            "CSV, TSV, Excel, OpenDocument, Parquet, JSON, or the folder of a dataset, with a column of "
            "sentences or of documents to be split. Other columns are kept.",
            "RFC 4180; ECMA-376; Apache Parquet",
            "table:TableReader",
            suffixes="tsv xlsx xls ods parquet jsonl json csv",
            tags="latin-1 table folders",
            config="themescope.core.readers.table:TableConfig",
            revision=4,
        ),
        _card(
            "zip",
            "ZIP archive of files",
            "Every file is read by the reader of its format; files without one are listed.",
            "PKWARE APPNOTE 6.3",
            "formats:Archive",
            suffixes="zip",
            tags="binary",
            revision=2,
        ),
        _card(
            "jsonl",
            "JSON lines",
            "One article per line: title, url, source, and a flat list of sections with level and paragraphs.",
            "Exchange format of Themescope",
            "jsonl:Jsonl",
            suffixes="jsonl",
            config="themescope.core.config:Config",
        ),
        _card(
            "transcript",
            "Transcript or chat",
            "Lines that begin with a speaker (“Ada: …”) or a time (“[00:01:15] …”), which become columns.",
            "Convention",
            "documents.transcripts:Transcript",
            suffixes="txt",
            tags="latin-1",
            revision=3,
        ),
        _card(
            "headed-text",
            "Text with = Heading = lines",
            "Plain text with headings between equals signs; = Title = starts an article.",
            "The format of WikiText-103 (Merity et al. 2017) and of MediaWiki's plain-text extracts",
            "plain_text:HeadedText",
            suffixes="txt",
            tags="text latin-1",
            own="headed",
        ),
        _card(
            "markdown",
            "Markdown",
            "A Markdown document with its headings. Code, tables, footnotes and front matter are listed.",
            "CommonMark 0.31, parsed by pulldown-cmark (pyromark)",
            "markdown:Markdown",
            suffixes="md markdown",
            tags="text latin-1",
            revision=2,
        ),
        _card(
            "plain",
            "Plain text",
            "A text without headings: one article named after the file. Paragraphs are lines, or stand between "
            "blank lines.",
            "Convention",
            "plain_text:Plain",
            suffixes="txt",
            tags="text latin-1",
            own="plain",
            revision=2,
        ),
    ],
    plugin_group="themescope.readers",
)
