"""Small files made after public bug reports, each with the value that a person expects; skipped without them."""

import os
import re
from pathlib import Path

import pytest

from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.formats import detect
from themescope.core.text.cleaning import clean
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import SILENT

ROOT = Path(__file__).parents[3]
CASES = Path(os.environ.get("THEMESCOPE_SHARED_DATA") or ROOT.parent / "shared" / "data").parent / "cases" / "files"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"no shared cases at {CASES} (set THEMESCOPE_SHARED_DATA)")

EXPECTED: dict[str, int | str] = {
    # case: number of sentences, or what the refusal says
    "csv-backslash-quote": 2, "csv-cp1251": 2, "csv-cr-only": 2, "csv-decimal-comma": 2, "csv-empty-column-first": 2,
    "csv-gb18030": 2, "csv-gz": 2, "csv-header-commas": 2, "csv-id-numbers": 2, "csv-long-cell": 6001,
    "csv-more-cells-than-header": "row 2: this row has 4 cells, but the table has 3 columns", "csv-multiline": 2,
    "csv-na-answers": 8, "csv-no-header": 3, "csv-nul": "byte 19", "csv-open-quote": 3, "csv-pipe": 2,
    "csv-qualtrics": 2,
    "csv-quoted-delimiter-header": 2, "csv-sep-line": 2, "csv-short-answers": 3, "csv-sjis": 2, "csv-title-line": 2,
    "csv-trailing-delimiter": 2, "csv-utf16le-bom-tab": 2, "csv-utf16le-nobom": 1, "epub": "no list of chapters",
    "html-br-paragraphs": 3, "html-cp1251-nometa": "the encoding of this text is not known", "html-entities": 3,
    "html-header-h1": 1, "html-lists": 1, "html-pre-text": 2, "html-table-layout": 2, "json-array": 2, "json-object": 1,
    "jsonl-array-values": "“text” is a list of texts", "jsonl-crlf-bom": 2, "jsonl-mixed-keys": 2, "jsonl-prodigy": 2,
    "jsonl-surrogate-pair": "line 2", "list-soft-hyphen": 8, "md-blockquote-html": 5, "md-crlf-front-matter": 1,
    "md-lists": 4, "md-table-text": 6, "mhtml": 1, "pdf": "this PDF is damaged, or not a PDF", "srt": 2,
    "transcript-no-stops": 3, "tsv-open-quote": 5, "txt-armenian": 3, "txt-burmese": 3, "txt-cp1252": 2,
    "txt-csv-in-txt": 2, "txt-dashes-markdown": 3, "txt-heading-noblank": 3, "txt-indent-after-hash": 3,
    "txt-one-per-line": 4, "txt-page-breaks": 3, "txt-soft-hyphen": 2, "txt-thai": 2, "txt-utf32": 2,
    "txt-very-long-line": 1, "txt-zero-width": 4, "wiki-empty-text": 1, "wiki-multistream": 2,
    "wiki-multistream-part": 2, "wiki-schema-011": 2, "wiki-slots": 1, "wiki-two-revisions": 1,
    "xls-old": r"an old Excel file \(.xls\), or one with a password.*Save it as .xlsx", "xlsx-blank-first-rows": 3,
    "xlsx-chartsheet-first": 2, "xlsx-dimension-short": 3, "xlsx-formula-uncached": "formulas have no computed values",
    "xlsx-hidden-first": 3, "xlsx-merged-cells": 3, "xlsx-number-answer": 3,
    "xlsx-second-sheet": "“Read me”.*“Answers”.*Choose one of them", "xlsx-strict": 2, "xlsx-types": 2,
    "zip-of-texts": 2,
}  # fmt: skip
TEXTS = {
    "csv-backslash-quote": ['He said "late, again" and left.'],
    "csv-cp1251": ["Автобус опять опоздал."],
    "csv-short-answers": ["late", "full", "slow"],
    "csv-utf16le-bom-tab": ["The café is late, so what."],
    "list-soft-hyphen": ["The transport authority raised prices."],
    "srt": ["The bus was late again and we had to walk.", "Trains are full."],
    "txt-heading-noblank": ["The bus is late most days."],
    "txt-soft-hyphen": ["The transport authority is late."],
    "wiki-zh-variants": ["公交车又晚点了。", "火车很挤。"],
    "xlsx-number-answer": ["42", "2024-03-01"],
}
"""Case → sentences that must be among those that are read."""
COLUMNS = {"csv-title-line": {"id", "place"}, "csv-sep-line": {"id", "score"}, "xlsx-blank-first-rows": {"id"}}
SPLIT = re.compile(r"language (\w+); \d+ sentences: (.*)", re.DOTALL)


def sentences(path: Path, columns: set[str]) -> list[str]:
    reader, found = REGISTRY.build(detect(path)), []
    for article in reader.read(path, SILENT):
        columns |= {*article.values, *article.sentence_values}
        sections = article.sections
        for text in (p for section in sections for p in section.paragraphs):
            given = [clean(sentence) for sentence in text.sentences]
            found += given or SentenceSplitter("en").split(clean(text.text))
    return found


@pytest.mark.parametrize("case", EXPECTED)
def test_a_file_is_read_or_refused_as_a_person_expects(case: str) -> None:
    (path,) = (path for path in (CASES / case).iterdir() if path.name not in ("expect.txt", "plain.txt"))
    expected, columns = EXPECTED[case], set[str]()
    if isinstance(expected, str):
        with pytest.raises(ReadError, match=expected):
            sentences(path, columns)
        return
    found = sentences(path, columns)
    assert len(found) == expected, found[:10]
    assert COLUMNS.get(case, set()) <= columns
    for text in TEXTS.get(case, ()):
        assert text in found
    assert not any(sign in text for text in found for sign in "\u00ad\u200b\ufeff\ufffdÃâ")


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.glob("split-*")) or ["none"])
def test_sentences_end_where_a_person_ends_them(case: str) -> None:
    language, listed = SPLIT.fullmatch((CASES / case / "expect.txt").read_text("utf-8").strip()).groups()
    text = (CASES / case / "text.txt").read_text("utf-8")
    splitter = SentenceSplitter(language)
    found = splitter.split(clean(text))
    assert [" ".join(sentence.split()) for sentence in found] == [" ".join(one.split()) for one in listed.split(" | ")]
    (article,) = REGISTRY.build("plain").read(CASES / case / "text.txt", SILENT)
    assert split_article(article, splitter).sentence_count() == len(found)
