"""Lists of sentences: every format read, bounds kept, and nothing written that a spreadsheet would obey."""

import csv
import io
import json
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from themescope.core.columns import ColumnType
from themescope.core.errors import ReadError
from themescope.core.readers import tables as reading
from themescope.core.readers.tables import read_sheet
from themescope.jobs.services.table_files import csv_text, excel_bytes, json_lines

TEXTS = ["First, a sentence.", "=SUM(A1)", "<b>Größe</b> “quoted”", "-1 below"]
HEADER = ("id", "text")
ROWS = [(str(i), text) for i, text in enumerate(TEXTS)]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def raw_csv(delimiter: str) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows([HEADER, *ROWS])
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", raw_csv(",")),
        ("semicolons.csv", raw_csv(";")),
        ("a.tsv", "\n".join("\t".join(row) for row in [HEADER, *ROWS])),
        ("a.jsonl", json_lines(HEADER, ROWS)),
        ("bom.csv", "\ufeff" + raw_csv(",")),
        ("wide.csv", raw_csv(",").encode("utf-16")),
    ],
)
def test_tables(tmp_path: Path, name: str, content: str | bytes) -> None:
    sheet = read_sheet(write(tmp_path, name, content))
    assert sheet.columns == HEADER and not sheet.cut
    assert sheet.likely_columns()[0] == "text"
    assert sheet.column("text") == TEXTS


def test_an_excel_sheet(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["id", "text", None])
    book.active.append([1, "One."])
    book.active.append([None, None])
    book.active.append([2.5, "Two.", "more"])
    book.save(tmp_path / "a.xlsx")
    sheet = read_sheet(tmp_path / "a.xlsx")
    assert sheet.columns == ("id", "text", "column 3")
    assert sheet.rows == (("1", "One.", ""), ("2.5", "Two.", "more"))


def test_plain_lines_and_the_bound(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "one\n\n two \r\nthree\n")
    assert read_sheet(path).column("sentence") == ["one", "two", "three"]
    sheet = read_sheet(path, most=2)
    assert len(sheet.rows) == 2 and sheet.cut


def test_old_spreadsheets_letters(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "text\nGröße\n".encode("cp1252"))
    assert read_sheet(path).column("text") == ["Größe"]


def bomb(folder: Path) -> Path:
    path = folder / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"0" * 20_000_000)
    return path


def entities(folder: Path) -> Path:
    """A workbook whose sheet asks for a file of this machine."""
    good = folder / "good.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["text"])
    book.active.append(["x"])
    book.save(good)
    bad = folder / "entities.xlsx"
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
        for part in source.infolist():
            data = source.read(part)
            if part.filename.startswith("xl/worksheets/"):
                dtd = b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
                data = dtd + data.split(b"?>", 1)[-1].replace(b"<sheetData>", b"<sheetData>&e;")
            target.writestr(part, data)
    return bad


def far(folder: Path) -> Path:
    """A workbook of 5 kB whose table has 17 billion cells."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"], sheet["XFD1048576"] = "text", "x"
    book.save(folder / "far.xlsx")
    return folder / "far.xlsx"


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_a_cell_far_away_does_not_end_the_process(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"needs more than 2 GB of memory. Delete cells far below"):
        read_sheet(far(tmp_path))


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [
        (bomb(tmp_path), "when decompressed"),
        (write(tmp_path, "zip.xlsx", b"PK\x03\x04 no"), "damaged"),
        (write(tmp_path, "binary.txt", b"\x00\x01\x02"), "neither text"),
        (write(tmp_path, "bad.jsonl", '{"a": 1}\n{'), "line 2"),
        (write(tmp_path, "empty.csv", ""), "empty"),
        (tmp_path / "missing.csv", "does not exist"),
    ]
    for path, said in broken:
        with pytest.raises(ReadError, match=said):
            read_sheet(path)
    assert "root" not in str(read_sheet(entities(tmp_path)).rows)
    monkeypatch.setattr(reading, "MOST_BYTES", 3)
    with pytest.raises(ReadError, match="larger than"):
        read_sheet(write(tmp_path, "large.txt", "large"))


@example(["\n=1+1", "\r\n@A1", "\t-1"])
@given(st.lists(st.text(max_size=20), max_size=6))
def test_no_cell_is_a_formula(texts: list[str]) -> None:
    cells = [row[0] for row in csv.reader(io.StringIO(csv_text(["t"], [[t] for t in texts]), newline="")) if row]
    sheet = openpyxl.load_workbook(io.BytesIO(excel_bytes(["t"], [[t] for t in texts]))).active
    assert sheet is not None
    kinds = [cell.data_type for row in sheet.iter_rows() for cell in row]
    assert "f" not in kinds
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in cells)


@given(texts=st.lists(st.text("'=-+@a", min_size=1, max_size=4), min_size=1, max_size=6))
@pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl"])
def test_texts_with_apostrophes_and_signs_of_formulas_come_back_equal(
    tmp_path_factory: pytest.TempPathFactory, kind: str, texts: list[str]
) -> None:
    write = {"csv": csv_text, "xlsx": excel_bytes, "jsonl": json_lines}[kind]
    data = write(["id", "text"], [[f"n{i}", text] for i, text in enumerate(texts)])
    path = tmp_path_factory.mktemp("table") / f"t.{kind}"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    assert list(read_sheet(path).column("text")) == texts


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=6))
def test_json_lines_stay_as_they_are(texts: list[str]) -> None:
    lines = json_lines(["t"], [[t] for t in texts]).split("\n")[:-1]
    assert [json.loads(line)["t"] for line in lines] == texts


def test_numbers_stay_numbers() -> None:
    assert csv_text(["x"], [[-1.5]]) == "x\r\n-1.5\r\n"


def test_a_workbook_is_for_people() -> None:
    """Own columns first, rows in reading order, a bold header that stays in view, and shares by group."""
    header = ("sentence_id", "article", "sentence", "cluster", "theme", "party", "row")
    rows = [
        (3, "x", "c", '["A", "B"]', "", "Green", 4),
        (1, "x", "a", "A", "", "Green", 2),
        (2, "x", "b", "", "", None, 3),
    ]
    types = {"party": ColumnType.CATEGORY, "row": ColumnType.NUMBER}
    book = openpyxl.load_workbook(io.BytesIO(excel_bytes(header, rows, "labels", types, {"summary": [["n"], [3]]})))
    assert book.sheetnames == ["labels", "by party", "summary"]
    first = book["labels"]
    assert [[cell.value for cell in row] for row in first.iter_rows()] == [
        ["party", "row", "sentence", "cluster", "sentence_id", "article"],
        ["Green", 2, "a", "A", 1, "x"], [None, 3, "b", None, 2, "x"], ["Green", 4, "c", '["A", "B"]', 3, "x"],
    ]  # fmt: skip
    assert first.freeze_panes == "A2" and first.auto_filter.ref == "A1:F4" and first["A1"].font.bold
    assert [[cell.value for cell in row] for row in book["by party"].iter_rows()] == [
        ["party", "sentences", "A", "B"], ["Green", 2, 1, 0.5], ["(none)", 1, 0, 0],
    ]  # fmt: skip
    assert book["by party"]["D2"].number_format == "0.0%"


def test_titles_of_sheets_are_accepted_by_excel() -> None:
    names = ["a/b: [c]*?", "x" * 60, "X" * 60]
    header, rows = ("sentence_id", "cluster", *names), [(1, "A", "p", "q", "r"), (2, "B", "p", "q", "r")]
    types = dict.fromkeys(names, ColumnType.CATEGORY)
    titles = openpyxl.load_workbook(io.BytesIO(excel_bytes(header, rows, "labels", types))).sheetnames
    assert len(titles) == 4 and all(len(title) <= 31 for title in titles) and len({t.casefold() for t in titles}) == 4
