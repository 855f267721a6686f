"""A whole folder of files of several formats is imported: each by its reader, and what cannot be read is listed."""

from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner

from themescope.core.readers.formats import sample
from themescope.core.types import UNREADABLE
from themescope.db.store import Store
from themescope.jobs.cli.main import main

FILES = {
    "Ada.txt": b"Ada was a town. It grew.\n",
    "notes.md": b"# Notes\n\nThe bus is late.\n",
    "photo.png": b"\x89PNG\r\n\x1a\n\0",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "interviews"
    (folder / "second").mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "second" / "one.docx").write_bytes(sample("word"))
    (folder / "second" / "cut.docx").write_bytes(sample("word")[:-40])
    (folder / ".hidden").write_bytes(b"not seen")
    return folder


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["import", *map(str, words), "--corpus", "C"])
    return result.exit_code, result.output


def test_every_file_has_its_reader_and_others_are_listed(sqlite_store: Store, folder: Path) -> None:
    code, said = run(folder)
    assert code == 0 and f"2 × {UNREADABLE}" in said and "photo.png" in said and "cut.docx" in said
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("C")
        entries = {entry.place.partition(",")[0]: entry.text for entry in r.corpora.entries(corpus.id)}
    assert corpus.report["readers"] == ["markdown", "plain", "word"]
    assert entries["photo.png"].startswith("this is an image")


def test_files_named_by_themselves_and_doubtful_ones_stop_the_import(sqlite_store: Store, folder: Path) -> None:
    code, said = run(folder / "Ada.txt", folder / "photo.png")
    assert code == 2 and "photo.png, byte 0: this is an image" in said
    book = openpyxl.Workbook()
    book.create_sheet("Answers")
    for sheet in book.worksheets:
        for row in (("id", "answer"), (1, f"Trains are full, says {sheet.title}.")):
            sheet.append(row)
    book.save(folder / "answers.xlsx")
    code, said = run(folder)
    assert code == 2 and "answers.xlsx: this workbook has several sheets" in said
    code, said = run(folder, "--sheet", "Answers")
    assert code == 0, said
    with sqlite_store.reading() as r:
        report = r.corpora.by_name("C").report
    assert report["by_file"]["answers.xlsx"]["settings"]["sheet"] == "Answers" and "table" in report["readers"]


def test_a_setting_that_no_reader_has_and_an_empty_folder_are_refused(sqlite_store: Store, tmp_path: Path) -> None:
    (tmp_path / "Ada.txt").write_bytes(FILES["Ada.txt"])
    code, said = run(tmp_path / "Ada.txt", "--sheet", "Answers")
    assert code == 2 and "has no sheet" in said
    (tmp_path / "empty").mkdir()
    code, said = run(tmp_path / "empty")
    assert code == 2 and "this folder has no files" in said
