"""Readers of files: articles with sections and paragraphs. Cards only; nothing heavy is imported.

Tags: ``split`` the file contains sentences that are already split; ``topics`` documents have a topic; ``latin-1`` the
file is read as ISO 8859-1, or in the encoding that its letters show; ``text`` the reader accepts any running text, so
its detector runs last; ``table`` the file has columns, from which a person chooses that of the texts; ``folders``
folders of Hugging Face datasets are read, too; ``binary`` the file is not text.
"""

from __future__ import annotations

from dataclasses import dataclass

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


REGISTRY = Registry(
    "reader",
    [
        ReaderCard(
            id="mediawiki-dump",
            title="MediaWiki XML dump",
            summary="Articles of the export of a wiki (.xml, also compressed with bz2, gzip or xz), without markup.",
            source="mediawiki.org, Help:Export and Help:Formatting",
            revision=2,
            factory="themescope.core.readers.mediawiki_dump:MediawikiDump",
            config="themescope.core.readers.mediawiki_dump:MediawikiDumpConfig",
            suffixes=("xml",),
        ),
        ReaderCard(
            id="reuters-sgml",
            title="Reuters-21578 (SGML)",
            summary="Newswire stories with a topic and the ModApte split: the 22 files of distribution 1.0.",
            source="Saha et al. 2017, section 4.1; Lewis 1997, Reuters-21578, distribution 1.0",
            factory="themescope.core.readers.reuters_sgml:ReutersSgml",
            config="themescope.core.readers.reuters_sgml:ReutersSgmlConfig",
            tags=frozenset({"topics", "latin-1"}),
            suffixes=("sgm",),
        ),
        ReaderCard(
            id="word",
            title="Word document",
            summary="A DOCX file under its headings. Tables, notes, comments, headers and footers are listed.",
            source="ECMA-376, part 1, section 17: WordprocessingML",
            factory="themescope.core.readers.documents.word:Word",
            config="themescope.core.readers.blocks:DocumentConfig",
            tags=frozenset({"binary"}),
            suffixes=("docx",),
        ),
        ReaderCard(
            id="open-document",
            title="OpenDocument text",
            summary="An ODT file under its headings. Tables, notes, comments, headers and footers are listed.",
            source="OASIS OpenDocument 1.3, part 3",
            factory="themescope.core.readers.documents.open_document:OpenDocument",
            config="themescope.core.readers.blocks:DocumentConfig",
            tags=frozenset({"binary"}),
            suffixes=("odt",),
        ),
        ReaderCard(
            id="pdf",
            title="PDF with text",
            summary="A PDF file: paragraphs and headings from the places and sizes of its characters, read by PDFium.",
            source="ISO 32000-2",
            revision=2,
            factory="themescope.core.readers.documents.pdf:Pdf",
            config="themescope.core.readers.blocks:DocumentConfig",
            tags=frozenset({"binary"}),
            suffixes=("pdf",),
        ),
        ReaderCard(
            id="rtf",
            title="Rich Text Format",
            summary="An RTF file under its headings. Tables, notes, comments, headers and footers are listed.",
            source="Microsoft, RTF 1.9.1",
            revision=3,
            factory="themescope.core.readers.documents.rtf:Rtf",
            config="themescope.core.readers.blocks:DocumentConfig",
            tags=frozenset({"binary"}),
            suffixes=("rtf",),
        ),
        ReaderCard(
            id="epub",
            title="Electronic book (EPUB)",
            summary="The chapters of a book in reading order.",
            source="W3C, EPUB 3.3",
            revision=2,
            factory="themescope.core.readers.documents.epub:Epub",
            config="themescope.core.readers.blocks:DocumentConfig",
            tags=frozenset({"binary"}),
            suffixes=("epub",),
        ),
        ReaderCard(
            id="latex",
            title="LaTeX",
            summary="A LaTeX document under its headings. Floats, notes and comments are listed.",
            source="LaTeX2e, parsed by pylatexenc",
            revision=3,
            factory="themescope.core.readers.documents.latex:Latex",
            config="themescope.core.readers.documents.latex:LatexConfig",
            tags=frozenset({"latin-1"}),
            suffixes=("tex",),
        ),
        ReaderCard(
            id="saved-page",
            title="Saved web page (MHTML)",
            summary="A page that a browser has saved as one file, read as HTML.",
            source="RFC 2557",
            factory="themescope.core.readers.documents.mail:SavedPage",
            config="themescope.core.readers.blocks:DocumentConfig",
            tags=frozenset({"binary"}),
            detector="themescope.core.readers.documents.mail:is_saved_page",
            sample="themescope.core.readers.documents.mail:MHTML_SAMPLE",
            suffixes=(
                "mht",
                "mhtml",
            ),
        ),
        ReaderCard(
            id="mail",
            title="Mail (EML, MBOX)",
            summary="Messages with sender and date. Quoted replies, signatures and attachments are listed.",
            source="RFC 5322; RFC 4155",
            revision=3,
            factory="themescope.core.readers.documents.mail:Mail",
            config="themescope.core.readers.documents.mail:MailConfig",
            tags=frozenset({"binary"}),
            suffixes=(
                "mbox",
                "eml",
            ),
        ),
        ReaderCard(
            id="html",
            title="HTML page",
            summary="The running text of a web page under its headings. Menus, tables and what is hidden are listed.",
            source="HTML Living Standard, sections 4.3, 4.4 and 13.2.5",
            revision=4,
            factory="themescope.core.readers.html:Html",
            config="themescope.core.readers.html:HtmlConfig",
            tags=frozenset({"latin-1"}),
            suffixes=("html", "htm"),
        ),
        ReaderCard(
            id="scb-csv",
            title="Sentence Clustering Benchmark (CSV)",
            summary="One sentence per row with Article Title, Sentence, SectionTitle and Article Link.",
            source="Ein Dor et al. 2018, section 5: IBM Debater Thematic Clustering of Sentences 1.0.2",
            factory="themescope.core.readers.scb_csv:ScbCsv",
            config="themescope.core.config:Config",
            tags=frozenset({"split"}),
            suffixes=("csv",),
        ),
        ReaderCard(
            id="summaries",
            title="Documents with summaries (JSON lines)",
            summary="The documents of a summarisation collection, without their reference summaries.",
            source="Saha et al. 2017, section 4.3; the format of scisummnet (Yasunaga et al. 2019) and BillSum",
            factory="themescope.core.readers.jsonl:Summaries",
            config="themescope.core.readers.jsonl:SummariesConfig",
            detector="themescope.core.readers.jsonl:has_summaries",
            sample="themescope.core.readers.jsonl:SUMMARIES_SAMPLE",
            suffixes=("jsonl",),
            revision=2,
        ),
        ReaderCard(
            id="newsgroups",
            title="20 Newsgroups",
            summary="Usenet messages whose group is their topic: message files, their tar archive, or JSON lines.",
            source="Saha et al. 2017, section 4.1; Lang 1995; Rennie 2008 (the “bydate” version)",
            factory="themescope.core.readers.newsgroups:Newsgroups",
            config="themescope.core.readers.newsgroups:NewsgroupsConfig",
            tags=frozenset({"topics"}),
            suffixes=("tar", "jsonl", "txt"),
            revision=2,
        ),
        ReaderCard(
            id="subtitles",
            title="Subtitles (SRT, WebVTT)",
            summary="Subtitles, joined to sentences; speaker and time are columns.",
            source="SubRip; WebVTT (W3C)",
            revision=2,
            factory="themescope.core.readers.documents.transcripts:Subtitles",
            config="themescope.core.readers.documents.transcripts:SubtitlesConfig",
            tags=frozenset({"latin-1"}),
            detector="themescope.core.readers.documents.transcripts:are_subtitles",
            sample="themescope.core.readers.documents.transcripts:SUBTITLES_SAMPLE",
            suffixes=("vtt", "srt"),
        ),
        ReaderCard(
            id="table",
            title="Table or Hugging Face dataset",
            summary="CSV, TSV, Excel, OpenDocument, Parquet, JSON, or the folder of a dataset, with a column of "
            "sentences or of documents to be split. Other columns are kept.",
            source="RFC 4180; ECMA-376; Apache Parquet",
            revision=3,
            factory="themescope.core.readers.table:TableReader",
            config="themescope.core.readers.table:TableConfig",
            tags=frozenset({"latin-1", "table", "folders"}),
            suffixes=("tsv", "xlsx", "xls", "ods", "parquet", "jsonl", "json", "csv"),
        ),
        ReaderCard(
            id="zip",
            title="ZIP archive of files",
            summary="Every file is read by the reader of its format; files without one are listed.",
            source="PKWARE APPNOTE 6.3",
            revision=2,
            factory="themescope.core.readers.documents.archive:Archive",
            config="themescope.core.readers.documents.archive:ArchiveConfig",
            tags=frozenset({"binary"}),
            suffixes=("zip",),
        ),
        ReaderCard(
            id="jsonl",
            title="JSON lines",
            summary="One article per line: title, url, source, and a flat list of sections with level and paragraphs.",
            source="Exchange format of Themescope",
            factory="themescope.core.readers.jsonl:Jsonl",
            config="themescope.core.config:Config",
            suffixes=("jsonl",),
        ),
        ReaderCard(
            id="transcript",
            title="Transcript or chat",
            summary="Lines that begin with a speaker (“Ada: …”) or a time (“[00:01:15] …”), which become columns.",
            source="Convention",
            revision=2,
            factory="themescope.core.readers.documents.transcripts:Transcript",
            config="themescope.core.readers.documents.transcripts:TranscriptConfig",
            tags=frozenset({"latin-1"}),
            suffixes=("txt",),
        ),
        ReaderCard(
            id="headed-text",
            title="Text with = Heading = lines",
            summary="Plain text with headings between equals signs; = Title = starts an article.",
            source="The format of WikiText-103 (Merity et al. 2017) and of MediaWiki's plain-text extracts",
            factory="themescope.core.readers.plain_text:HeadedText",
            config="themescope.core.readers.plain_text:HeadedTextConfig",
            tags=frozenset({"text", "latin-1"}),
            detector="themescope.core.readers.plain_text:has_headings",
            sample="themescope.core.readers.plain_text:HEADED_SAMPLE",
            suffixes=("txt",),
        ),
        ReaderCard(
            id="markdown",
            title="Markdown",
            summary="A Markdown document with its headings. Code, tables, footnotes and front matter are listed.",
            source="CommonMark 0.31, parsed by pulldown-cmark (pyromark)",
            revision=2,
            factory="themescope.core.readers.markdown:Markdown",
            config="themescope.core.readers.markdown:MarkdownConfig",
            tags=frozenset({"text", "latin-1"}),
            suffixes=("md", "markdown"),
        ),
        ReaderCard(
            id="plain",
            title="Plain text",
            summary="A text without headings: one article named after the file. Paragraphs are lines, or stand between "
            "blank lines.",
            source="Convention",
            revision=2,
            factory="themescope.core.readers.plain_text:Plain",
            config="themescope.core.readers.plain_text:PlainConfig",
            tags=frozenset({"text", "latin-1"}),
            detector="themescope.core.readers.plain_text:is_text",
            sample="themescope.core.readers.plain_text:PLAIN_SAMPLE",
            suffixes=("txt",),
        ),
    ],
    plugin_group="themescope.readers",
)
