"""Files that cannot be imported, each broken in a way of its own. Name → what is in it."""

import bz2
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

PAGE = "<page><title>{0}</title><ns>0</ns><revision><text>{0} is a town. It is old.</text></revision></page>\n"


def _dump(pages: int = 400) -> bytes:
    body = "".join(PAGE.format(f"Town {i}") for i in range(pages))
    return f"<mediawiki>\n{body}</mediawiki>".encode()


def _jsonl(lines: int, broken: int) -> bytes:
    record = {"title": "Ada", "sections": [{"title": "", "level": 1, "paragraphs": ["Ada is a town."]}]}
    whole = json.dumps(record)
    return "\n".join(whole[:30] if i == broken else whole for i in range(1, lines + 1)).encode()


def _zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    return packed.getvalue()


def _table(kind: str) -> bytes:
    """A table of typed columns as Excel or Parquet."""
    rows = [(f"Sentence {i} is in this table.", i, f"kind {i % 3}") for i in range(200)]
    out = io.BytesIO()
    if kind == "parquet":
        names = ("sentence", "number", "kind")
        pq.write_table(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), out)
    else:
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("rows")
        for row in (("sentence", "number", "kind"), *rows):
            sheet.append(row)
        book.save(out)
    return out.getvalue()


def _dataset_zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("claims/train.parquet", _table("parquet"))
    return packed.getvalue()


MAKERS: dict[str, Callable[[], bytes]] = {
    "truncated.xml.bz2": lambda: bz2.compress(_dump())[:-400],
    "bad.xml": lambda: _dump().replace(b"<title>Town 300</title>", b"<title>Town & Field</tite>"),
    "latin1.txt": lambda: "= Café =\n\nLe thé est là.\n".encode() + "Le café est là.\n".encode("latin-1"),
    "scb.csv": lambda: b"Article Title,Sentence,Article Link\nAda,Ada is old.,http://x\n",
    "empty.jsonl": lambda: b"",
    "one-line.txt": lambda: b"words on one line " * 5_000,
    "paper.pdf": lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n",
    "text.docx": _zip,
    "line7.jsonl": lambda: _jsonl(10, broken=7),
    "broken.csv": lambda: b'sentence,number\n"One of many.,1\nTwo of many.,2\n' + b"x" * 200_000,
    "cut.xlsx": lambda: _table("xlsx")[:-200],
    "cut.parquet": lambda: _table("parquet")[:-40],
    "cut-dataset.zip": lambda: _dataset_zip()[:-60],
    "ragged.txt": lambda: b"the 0.1 0.2 0.3\nof 0.1 0.2 0.3\nriver 0.1 0.2\n",
    "triplets.csv": lambda: b"Sentence1,Sentence2,Sentence3\nA one.,A two.,A three.\nA one.,,A three.\n",
    "small.txt": lambda: b"= One =\n\nA lead of some words.\n\n== A ==\n\nOnly one paragraph of text here.\n",
}


def write_bad(folder: Path, name: str) -> Path:
    """Write the file of that name."""
    path = folder / name
    path.write_bytes(MAKERS[name]())
    return path


def write_pickled_model(folder: Path) -> Path:
    """A folder that looks like a saved model and holds pickles."""
    model = folder / "pickled"
    model.mkdir()
    for name in ("model.json", "network.safetensors"):
        (model / name).write_bytes(pickle.dumps({"method": "triplets-sen"}))
    return model
