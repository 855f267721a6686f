"""Columns of imported files: their types and values, chosen types, and that bundles carry them."""

import csv
import io
import json
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

from themescope.core.columns import ColumnLevel, ColumnType, plain_values
from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.readers.tables import raw_cell
from themescope.db import tables as t
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.table_files import csv_text, excel_bytes, file_content, json_lines, parquet_bytes

CLAIMS = """\
claim,motion,score,day,note,empty
Games are violent.,games,1.5,2020-01-05,first,
Smoking kills.,smoking,,2020-02-01,second,
,games,9,2020-01-01,no text,
"Games are, however, fun.",games,3,NA,,
Taxes help.,smoking,-2,1999-12-31,=1+1,
"""
DAYS = [datetime(2020, 1, 5, tzinfo=UTC), datetime(2020, 2, 1, tzinfo=UTC), None, datetime(1999, 12, 31, tzinfo=UTC)]


def do(store: Store, kind: str, **args: Any) -> dict[str, Any]:
    return run_here(store, kind, args, quiet=True)


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


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
    result = do(store, "import-corpus", files=[write(tmp_path, "claims.csv", CLAIMS)], corpus="C")
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


def test_a_person_chooses_columns_and_types(sqlite_store: Store, tmp_path: Path) -> None:
    path = write(tmp_path, "claims.csv", CLAIMS)
    chosen = {"text": "claim", "title": "motion"}
    types = {"score": "text", "note": "omit", "day": "category"}
    do(sqlite_store, "import-corpus", files=[path], corpus="C", reader="table", settings=chosen, types=types)
    assert columns_of(sqlite_store, "C") == {
        "score": ("sentence", "text", ["1.5", "3", None, "-2"]),
        "day": ("sentence", "category", ["2020-01-05", "NA", "2020-02-01", "1999-12-31"]),
        "row": ("sentence", "number", [2, 5, 3, 6]),
    }
    with pytest.raises(ConfigError, match="one of text, category"):
        do(sqlite_store, "import-corpus", files=[path], corpus="D", types={"score": "colour"})
    with pytest.raises(UnknownNameError, match="column called 'claims'"):
        do(sqlite_store, "import-corpus", files=[path], corpus="D", reader="table", settings={"text": "claims"})


def test_documents_and_articles_have_columns_of_their_own(sqlite_store: Store, tmp_path: Path) -> None:
    rows = [{"text": "One. Two.", "year": 1990 + n, "tags": ["a", "b"], "free": True} for n in range(3)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path = write(tmp_path, "a.jsonl", lines)
    do(sqlite_store, "import-corpus", files=[path], corpus="D", reader="table", settings={"rows": "documents"})
    assert columns_of(sqlite_store, "D") == {
        "year": ("article", "number", [1990, 1991, 1992]),
        "tags": ("article", "category", ['["a", "b"]'] * 3),
        "free": ("article", "category", ["true"] * 3),
        "row": ("article", "number", [1, 2, 3]),
    }
    section = {"title": "", "level": 1, "paragraphs": ["One. Two."]}
    records = [{"title": f"A{n}", "sections": [section], "year": n, "by": {"name": "x"}} for n in range(2)]
    path = write(tmp_path, "b.jsonl", "".join(json.dumps(record) + "\n" for record in records))
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
    do(sqlite_store, "import-corpus", files=[write(tmp_path, name, body)], corpus="C", settings=settings)
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


def test_a_bundle_carries_columns(sqlite_store: Store, other: Store, tmp_path: Path) -> None:
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    types = {"score": "category"}
    do(sqlite_store, "import-corpus", files=[write(tmp_path, "c.csv", CLAIMS)], corpus="C", types=types)
    do(sqlite_store, "export-bundle", corpus="C", file=str(first))
    do(other, "import-bundle", file=str(first))
    assert columns_of(other, "C") == columns_of(sqlite_store, "C")
    do(other, "export-bundle", corpus="C", file=str(second))
    assert first.read_bytes() == second.read_bytes()


PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda text: text == " ".join(text.split()) and text != ""
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "number": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "day": st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
            "kind": st.none() | st.sampled_from(["a", "=b", "ü <c>"]),
            "note": st.none() | PLAIN,
        }
    ),
    min_size=1,
    max_size=6,
)
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
    source = "".join(
        json.dumps({"text": f"Sentence {i}.", **row}, default=datetime.isoformat) + "\n" for i, row in enumerate(rows)
    )
    args = {"reader": "table", "types": TYPES}
    do(sqlite_store, "import-corpus", files=[write(tmp_path, "a.jsonl", source)], corpus="A", **args)
    content = exported(sqlite_store, "A", parquet_bytes)
    (tmp_path / "b.parquet").write_bytes(content)
    args = {"reader": "table", "settings": {"text": "sentence"}, "types": {"sentence_id": "omit"}}
    do(sqlite_store, "import-corpus", files=[str(tmp_path / "b.parquet")], corpus="B", **args)
    assert columns_of(sqlite_store, "B") == columns_of(sqlite_store, "A")
    assert (
        pq.read_table(io.BytesIO(exported(sqlite_store, "B", parquet_bytes)))
        .drop(["sentence_id"])
        .equals(pq.read_table(io.BytesIO(content)).drop(["sentence_id"]))
    )


def exported(store: Store, corpus: str, write: Any) -> Any:
    with store.reading() as r:
        record = r.corpora.by_name(corpus)
        ids = r.corpora.sentence_ids(record.id).tolist()
        texts = r.corpora.sentences_by_id(ids)
    return file_content(store, record.id, write, ("sentence_id", "sentence"), [(id, texts[id].text) for id in ids])


def test_every_format_of_files_has_the_columns(sqlite_store: Store, tmp_path: Path) -> None:
    do(sqlite_store, "import-corpus", files=[write(tmp_path, "claims.csv", CLAIMS)], corpus="C")
    first, *_, last = csv.DictReader(io.StringIO(exported(sqlite_store, "C", csv_text)))
    assert (first["score"], first["day"], first["motion"]) == ("1.5", "2020-01-05", "games")
    assert last["note"] == "'=1+1"  # no formula
    lines = [json.loads(line) for line in exported(sqlite_store, "C", json_lines).splitlines()]
    assert lines[1] == lines[1] | {"score": None, "day": "2020-02-01", "note": "second"}
    sheet = openpyxl.load_workbook(io.BytesIO(exported(sqlite_store, "C", excel_bytes))).active
    assert sheet is not None
    cells = [[cell.value for cell in row] for row in sheet.iter_rows()]
    rows = [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]
    assert (rows[0]["motion"], rows[0]["score"], rows[0]["day"]) == ("games", 1.5, datetime(2020, 1, 5))
    assert rows[3]["note"] == "'=1+1" and cells[0][-2:] == ["sentence", "sentence_id"]
    found = pq.read_table(io.BytesIO(exported(sqlite_store, "C", parquet_bytes))).schema
    assert pa.types.is_dictionary(found.field("motion").type) and found.field("score").type == pa.float64()
    assert found.field("day").type == pa.timestamp("us", "UTC")
    for suffix, content in (
        ("csv", csv_text),
        ("xlsx", excel_bytes),
        ("jsonl", json_lines),
        ("parquet", parquet_bytes),
    ):
        data = exported(sqlite_store, "C", content)
        path = tmp_path / f"again.{suffix}"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        types = {"sentence_id": "omit"}
        do(sqlite_store, "import-corpus", files=[str(path)], corpus=suffix, reader="table", types=types)
        again = columns_of(sqlite_store, suffix)
        again["note"] = ("sentence", "text", [raw_cell(note) if note else None for note in again["note"][2]])
        assert again == columns_of(sqlite_store, "C"), suffix
