"""Values and bytes that crashed a reader: it returns articles or a table, or raises a sentence, and nothing else."""

import io
import json
import tarfile
import time
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.readers.samples import MESSAGE, archive, read_as, workbook, write
from themescope.core.errors import ReadError
from themescope.core.readers.formats import detect, sample
from themescope.core.readers.html import Tag, tokens, unescape
from themescope.core.readers.tables import read_sheet

NEAR = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PIECES = [*"<>p=\"'/ 9é", "</", "<!--", "-->", "--!>", "<!", "<?", "a ", "script", "title", "&#", "&amp;", "]]>", "<!["]
MARKUP = st.lists(st.sampled_from([*PIECES, "x" * 40]), max_size=40).map("".join)
WORKBOOK = workbook(["sentence", "source"], ["It was founded.", "a"], ["Then it grew.", "b"])


def rows_of(path: Path, content: bytes) -> int | None:
    """Return the number of rows of a list, None if it is refused."""
    path.write_bytes(content)
    try:
        sheet = read_sheet(path)
    except ReadError as error:
        assert path.name in str(error)
        return None
    assert sheet.likely_columns()[0] in sheet.columns
    assert all(len(row) == len(sheet.columns) for row in sheet.rows)
    return len(sheet.rows)


@pytest.mark.parametrize("reader", ["jsonl", "summaries", "newsgroups"])
def test_numbers_of_too_many_digits_and_deep_nesting_are_named(reader: str, tmp_path: Path) -> None:
    record = json.loads(sample(reader).splitlines()[0])
    for name, value in (("digits", "9" * 4_301), ("deeply", "[" * 20_000 + "]" * 20_000)):
        line = json.dumps(record | {"extra": "?"}).replace('"?"', value)
        path = write(tmp_path, "a.jsonl", line.encode())
        with pytest.raises(ReadError, match=f"line 1: .*{name}"):
            read_as(reader, path)
        assert rows_of(tmp_path / "list.jsonl", line.encode()) is None


BLANK = [(suffix, content) for suffix in ("csv", "tsv") for content in (b"\n", b"\r\n\r\n", b"\xef\xbb\xbf\n")]


@pytest.mark.parametrize(("suffix", "content"), [*BLANK, ("jsonl", b"{}\n{}\n"), ("jsonl", b"\n")])
def test_lists_without_columns_are_refused(suffix: str, content: bytes, tmp_path: Path) -> None:
    assert rows_of(tmp_path / f"list.{suffix}", content) is None


@NEAR
@given(suffix=st.sampled_from(["csv", "tsv", "txt", "jsonl"]), content=st.text(st.sampled_from('a,;\t\n\r"{}[]:1 é\0')))
def test_any_text_is_a_list_or_refused(suffix: str, content: str, tmp_path: Path) -> None:
    assert rows_of(tmp_path / f"list.{suffix}", content.encode()) in (None, *range(len(content) + 1))


def test_a_workbook_of_an_unknown_version_of_zip_is_refused(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "whole.xlsx", WORKBOOK) == 2
    at = WORKBOOK.index(b"PK\x01\x02") + 6  # the version that the first entry needs
    assert rows_of(tmp_path / "new.xlsx", WORKBOOK[:at] + b"\xff" + WORKBOOK[at + 1 :]) is None


def test_a_workbook_with_an_endless_row_number_ends(tmp_path: Path) -> None:
    path = tmp_path / "far.xlsx"
    with ZipFile(io.BytesIO(WORKBOOK)) as old, ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'<row r="3"', b'<row r="99999999999"'))
    assert rows_of(path, path.read_bytes()) == 2


@NEAR
@given(text=MARKUP)
def test_any_markup_has_tokens(text: str) -> None:
    for token in tokens(text):
        assert isinstance(token, Tag) or token or "&" in text
        if isinstance(token, Tag):
            assert token.name == token.name.lower() and token.attribute("a") in unescape(text)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a<b c='>'>d", ["a", Tag("b", source=" c='>'"), "d"]),
        ("<p/>x</P >", [Tag("p", self_closing=True, source="/"), "x", Tag("p", closing=True, source=" ")]),
        ("<!-->a<!-- b --!>c<!d>e<?f>g</>h</ i>j", ["a", "c", "e", "g", "h", "j"]),
        ("<script>a<b</script >c", [Tag("script"), "a<b", Tag("script", closing=True, source=" "), "c"]),
        ("a < b <3 &amp;", ["a ", "<", " b ", "<", "3 &"]),
        ("a<b c='d>e", ["a"]),
        ("a<!-- b", ["a"]),
    ],
)
def test_tokens_follow_the_standard(source: str, expected: list[Tag | str]) -> None:
    assert list(tokens(source)) == expected


def test_the_first_attribute_of_a_name_counts() -> None:
    (tag,) = tokens("""<p title="class=x" CLASS = 'a &lt;b' class=c d=e/>""")
    assert isinstance(tag, Tag) and not tag.self_closing
    assert (tag.attribute("class"), tag.attribute("d"), tag.attribute("e")) == ("a <b", "e/", "")


@pytest.mark.parametrize("number", ["9" * 5_000, "0" * 5_000 + "65", "65"])
def test_character_references_of_any_length(number: str) -> None:
    assert unescape(f"x&#{number};") == ("x\ufffd" if number.startswith("9") else "xA")


def test_a_run_of_comments_before_another_format_is_no_html(tmp_path: Path) -> None:
    assert detect(write(tmp_path, "comments.txt", b"<!-- -->" * 1_000 + b"text")) == "plain"


def test_deeply_nested_xml_and_packed_repetition_are_refused_early(tmp_path: Path) -> None:
    deep = write(tmp_path, "deep.xml", b"<mediawiki>" + b"<a>" * 100_000)
    text = b"<mediawiki><page><text>" + b"word " * 1_200_000
    bombs = [write(tmp_path, "bomb.xml", text, packing) for packing in (".gz", ".bz2", ".xz")]
    for path, said in ((deep, "nested more than"), *((bomb, "times its size") for bomb in bombs)):
        with pytest.raises(ReadError, match=said):
            read_as("mediawiki-dump", path)


def extended(content: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """Return an extended header of a tar archive."""
    header = tarfile.TarInfo("x")
    header.size, header.type = len(content), kind
    return header.tobuf(tarfile.USTAR_FORMAT) + content.ljust(-(-len(content) // 512) * 512, b"\0")


ONE = archive({"sci.med/1": MESSAGE})
TARS = {
    "digits": extended(b"1" * 200_000) + ONE,
    "many digits": extended(b"1" * 60_000) * 100 + ONE,
    "length of many digits": extended(b"1" * 5_000 + b" path=b\n") + ONE,
    "unknown encoding": extended(b"20 hdrcharset=\xff\xff\xff\n") + ONE,
    "extended headers in a row": extended(b"13 comment=x\n") * 2_000 + ONE,
    "global headers in a row": extended(b"13 comment=x\n", tarfile.XGLTYPE) * 20_000 + ONE,
    "long names in a row": extended(b"sci.med/2\0", tarfile.GNUTYPE_LONGNAME) * 2_000 + ONE,
    "size below 0": extended(b"11 size=-1\n") + ONE,
    "size of many digits": extended(b"5013 size=" + b"9" * 5_000 + b"\n") + ONE,
    "sparse file": extended(b"22 GNU.sparse.map=a,b\n") + ONE,
    "negative size": ONE[:124] + b"\xff" * 12 + ONE[136:],
}


@pytest.mark.parametrize("case", TARS)
def test_a_tar_archive_is_read_or_refused_in_little_time(case: str, tmp_path: Path) -> None:
    path = write(tmp_path, "messages.tar", TARS[case])
    begun = time.thread_time()
    try:
        assert len(read_as("newsgroups", path)[0]) == 1
    except ReadError as error:
        assert "the tar archive is truncated or damaged" in str(error)
    assert time.thread_time() - begun < 5
