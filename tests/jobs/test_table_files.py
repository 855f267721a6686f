"""Tables: lists of sentences, columns with types and values, and files that a spreadsheet opens safely."""

import csv
import io
import json
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.jobs.test_kinds import do
from themescope.core.columns import ColumnLevel, ColumnType, plain_values
from themescope.core.errors import ConfigError, ReadError, UnknownNameError
from themescope.core.readers import tables as reading
from themescope.core.readers.tables import raw_cell, read_sheet
from themescope.db import tables as t
from themescope.db.store import Store
from themescope.jobs.services.table_files import csv_text, excel_bytes, file_content, json_lines, parquet_bytes

WRITERS: dict[str, Any] = {"csv": csv_text, "xlsx": excel_bytes, "jsonl": json_lines, "parquet": parquet_bytes}


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_tables_of_spreadsheets_have_their_letters(tmp_path: Path, encoding: str) -> None:
    sheet = read_sheet(write(tmp_path, "a.csv", "text\nGröße\n".encode(encoding)))
    assert sheet.columns == ("text",) and sheet.column("text") == ["Größe"] and not sheet.cut


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
    kinds = [cell.data_type for row in sheet.iter_rows() for cell in row]
    assert "f" not in kinds
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in cells)


@given(texts=st.lists(st.text("'=-+@a", min_size=1, max_size=4), min_size=1, max_size=6))
@pytest.mark.parametrize("kind", WRITERS)
def test_texts_with_apostrophes_and_signs_of_formulas_come_back_equal(
    tmp_path_factory: pytest.TempPathFactory, kind: str, texts: list[str]
) -> None:
    data = WRITERS[kind](["id", "text"], [[f"n{i}", text] for i, text in enumerate(texts)])
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


CLAIMS = """\
claim,motion,score,day,note,empty
Games are violent.,games,1.5,2020-01-05,first,
Smoking kills.,smoking,,2020-02-01,second,
,games,9,2020-01-01,no text,
"Games are, however, fun.",games,3,NA,,
Taxes help.,smoking,-2,1999-12-31,=1+1,
"""
DAYS = [datetime(2020, 1, 5, tzinfo=UTC), datetime(2020, 2, 1, tzinfo=UTC), None, datetime(1999, 12, 31, tzinfo=UTC)]


def columns_of(store: Store, corpus: str) -> dict[str, tuple[str, str, list[Any]]]:
    """Return column → (level, type, plain values in the order of the corpus)."""
    with store.reading() as r:
        record = r.corpora.by_name(corpus)
        sentences = r.corpora.sentence_ids(record.id)
        articles = np.array([a.id for a in r.corpora.articles(record.id, limit=1_000)])
        found = {}
        for column in r.columns.list(record.id):
            ids = sentences if column.level is ColumnLevel.SENTENCE else articles
            values = plain_values(ColumnType(column.type), r.columns.values(column, ids), column.categories)
            found[column.name] = (str(column.level), column.type, values)
        return found


def test_a_table_keeps_its_columns(store: Store, tmp_path: Path) -> None:
    result = do(store, "import-corpus", files=[str(write(tmp_path, "claims.csv", CLAIMS))], corpus="C")
    assert (result["articles"], result["sentences"], result["skipped"]) == (1, 4, {"no text": 1})
    assert columns_of(store, "C") == {
        "motion": ("sentence", "category", ["games", "smoking", "games", "smoking"]),
        "score": ("sentence", "number", [1.5, None, 3, -2]),
        "day": ("sentence", "date", DAYS),
        "note": ("sentence", "text", ["first", "second", None, "=1+1"]),
        "row": ("sentence", "number", [2, 3, 5, 6]),
    }
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
        motion, score, *_ = r.columns.list(corpus.id)
        assert motion.about == {"missing": 0, "categories": ["games", "smoking"], "counts": [2, 2]}
        assert score.about == {"missing": 1, "whole": False, "low": -2, "high": 3}
        assert len(r.columns.list(corpus.id)) == 5
        # Any ids, in any order; unknown ones have no value.
        ids = r.corpora.sentence_ids(corpus.id)[[3, 0]]
        assert r.columns.values(score, np.append(ids, 10**9))[:2].tolist() == [-2, 1.5]
    with store.writing() as w:
        w.corpora.delete(corpus.id)
        assert w.jobs.connection.scalar(sa.select(sa.func.count()).select_from(t.column_block)) == 0


def test_a_person_chooses_columns_and_types_and_a_bundle_carries_them(
    sqlite_store: Store, other: Store, tmp_path: Path
) -> None:
    path = str(write(tmp_path, "claims.csv", CLAIMS))
    chosen = {"text": "claim", "title": "motion"}
    types = {"score": "text", "note": "omit", "day": "category"}
    do(sqlite_store, "import-corpus", files=[path], corpus="C", reader="table", settings=chosen, types=types)
    assert columns_of(sqlite_store, "C") == {
        "score": ("sentence", "text", ["1.5", "3", None, "-2"]),
        "day": ("sentence", "category", ["2020-01-05", "NA", "2020-02-01", "1999-12-31"]),
        "row": ("sentence", "number", [2, 5, 3, 6]),
    }
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    do(sqlite_store, "export-bundle", corpus="C", file=str(first))
    do(other, "import-bundle", file=str(first))
    assert columns_of(other, "C") == columns_of(sqlite_store, "C")
    do(other, "export-bundle", corpus="C", file=str(second))
    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(ConfigError, match="one of text, category"):
        do(sqlite_store, "import-corpus", files=[path], corpus="D", types={"score": "colour"})
    with pytest.raises(UnknownNameError, match="column called 'claims'"):
        do(sqlite_store, "import-corpus", files=[path], corpus="D", reader="table", settings={"text": "claims"})


def test_documents_and_articles_have_columns_of_their_own(sqlite_store: Store, tmp_path: Path) -> None:
    rows = [{"text": "One. Two.", "year": 1990 + n, "tags": ["a", "b"], "free": True} for n in range(3)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path = str(write(tmp_path, "a.jsonl", lines))
    do(sqlite_store, "import-corpus", files=[path], corpus="D", reader="table", settings={"rows": "documents"})
    assert columns_of(sqlite_store, "D") == {
        "year": ("article", "number", [1990, 1991, 1992]),
        "tags": ("article", "category", ['["a", "b"]'] * 3),
        "free": ("article", "category", ["true"] * 3),
        "row": ("article", "number", [1, 2, 3]),
    }
    section = {"title": "", "level": 1, "paragraphs": ["One. Two."]}
    records = [{"title": f"A{n}", "sections": [section], "year": n, "by": {"name": "x"}} for n in range(2)]
    path = str(write(tmp_path, "b.jsonl", "".join(json.dumps(record) + "\n" for record in records)))
    do(sqlite_store, "import-corpus", files=[path], corpus="E")
    assert columns_of(sqlite_store, "E") == {
        "year": ("article", "number", [0, 1]),
        "by": ("article", "category", ['{"name": "x"}'] * 2),
    }


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_sentences_keep_their_place_through_import_export_and_bundle(
    sqlite_store: Store, other: Store, tmp_path: Path, name: str
) -> None:
    texts = ["It rained. “Why?” she said.", "Dr. Ada came. She left."]
    body = "\n\n".join(texts) if name == "a.txt" else "text\n" + "".join(f"{text}\n" for text in texts)
    settings = {"rows": "documents"} if name == "a.csv" else {}
    do(sqlite_store, "import-corpus", files=[str(write(tmp_path, name, body))], corpus="C", settings=settings)
    found = starts_of(sqlite_store, "C")
    assert found == [(0, "It rained."), (11, "“Why?” she said."), (0, "Dr. Ada came."), (14, "She left.")]
    do(sqlite_store, "export-bundle", corpus="C", file=str(tmp_path / "c.zip"))
    do(other, "import-bundle", file=str(tmp_path / "c.zip"))
    do(sqlite_store, "export-dataset", corpus="C", folder=str(tmp_path / "c"))
    do(other, "import-corpus", files=[str(tmp_path / "c")], corpus="D")
    assert starts_of(other, "C") == starts_of(other, "D") == found


def starts_of(store: Store, corpus: str) -> list[tuple[int, str]]:
    with store.reading() as r:
        return [(s.start, s.text) for *_, of in r.corpora.iterate(r.corpora.by_name(corpus).id) for s in of]


PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).map(lambda text: " ".join(text.split()))
CELLS = {
    "number": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "day": st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
    "kind": st.none() | st.sampled_from(["a", "=b", "ü <c>"]),
    "note": st.none() | PLAIN.filter(bool),
}
ROWS = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=6)
TYPES = {"number": "number", "day": "date", "kind": "category", "note": "text"}


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(rows=[{"number": 9007199254740994.0, "day": None, "kind": None, "note": None}])
@given(rows=ROWS)
def test_an_exported_parquet_file_is_imported_with_the_same_columns(
    rows: list[dict[str, Any]], sqlite_store: Store, tmp_path: Path
) -> None:
    """What is exported as Parquet comes back with its types and values; a second export has the same columns."""
    with sqlite_store.writing() as w:
        for corpus in w.corpora.list(include_unready=True):
            w.corpora.delete(corpus.id)
    texts = [{"text": f"Sentence {i}.", **row} for i, row in enumerate(rows)]
    source = "".join(json.dumps(text, default=datetime.isoformat) + "\n" for text in texts)
    args = {"reader": "table", "types": TYPES}
    do(sqlite_store, "import-corpus", files=[str(write(tmp_path, "a.jsonl", source))], corpus="A", **args)
    content = exported(sqlite_store, "A", parquet_bytes)
    (tmp_path / "b.parquet").write_bytes(content)
    args = {"reader": "table", "settings": {"text": "sentence"}, "types": {"sentence_id": "omit"}}
    do(sqlite_store, "import-corpus", files=[str(tmp_path / "b.parquet")], corpus="B", **args)
    assert columns_of(sqlite_store, "B") == columns_of(sqlite_store, "A")
    again = exported(sqlite_store, "B", parquet_bytes)
    tables = [pq.read_table(io.BytesIO(file)).drop(["sentence_id"]) for file in (content, again)]
    assert tables[0].equals(tables[1])


def exported(store: Store, corpus: str, write: Any) -> Any:
    with store.reading() as r:
        record = r.corpora.by_name(corpus)
        ids = r.corpora.sentence_ids(record.id).tolist()
        texts = r.corpora.sentences_by_id(ids)
    return file_content(store, record.id, write, ("sentence_id", "sentence"), [(id, texts[id].text) for id in ids])


def test_every_format_of_files_has_the_columns(sqlite_store: Store, tmp_path: Path) -> None:
    do(sqlite_store, "import-corpus", files=[str(write(tmp_path, "claims.csv", CLAIMS))], corpus="C")
    first, *_, last = csv.DictReader(io.StringIO(exported(sqlite_store, "C", csv_text)))
    assert (first["score"], first["day"], first["motion"]) == ("1.5", "2020-01-05", "games")
    assert last["note"] == "'=1+1"  # no formula
    lines = [json.loads(line) for line in exported(sqlite_store, "C", json_lines).splitlines()]
    assert lines[1] == lines[1] | {"score": None, "day": "2020-02-01", "note": "second"}
    sheet = openpyxl.load_workbook(io.BytesIO(exported(sqlite_store, "C", excel_bytes))).active
    cells = [[cell.value for cell in row] for row in sheet.iter_rows()]
    rows = [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]
    assert (rows[0]["motion"], rows[0]["score"], rows[0]["day"]) == ("games", 1.5, datetime(2020, 1, 5))
    assert rows[3]["note"] == "'=1+1" and cells[0][-2:] == ["sentence", "sentence_id"]
    found = pq.read_table(io.BytesIO(exported(sqlite_store, "C", parquet_bytes))).schema
    assert pa.types.is_dictionary(found.field("motion").type) and found.field("score").type == pa.float64()
    assert found.field("day").type == pa.timestamp("us", "UTC")
    for suffix, content in WRITERS.items():
        data = exported(sqlite_store, "C", content)
        path = tmp_path / f"again.{suffix}"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        types = {"sentence_id": "omit"}
        do(sqlite_store, "import-corpus", files=[str(path)], corpus=suffix, reader="table", types=types)
        again = columns_of(sqlite_store, suffix)
        again["note"] = ("sentence", "text", [raw_cell(note) if note else None for note in again["note"][2]])
        assert again == columns_of(sqlite_store, "C"), suffix
