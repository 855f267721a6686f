"""Files that cannot be imported, each broken in a way of its own. Name → what is in it."""

import bz2
import pickle
from collections.abc import Callable
from pathlib import Path

from tests.core.readers.samples import dump, page
from themescope.core.readers.documents.packages import made

MAKERS: dict[str, Callable[[], bytes]] = {
    "truncated.xml.bz2": lambda: bz2.compress(dump(*(page(f"Town {i}", "It is old.") for i in range(400))))[:-400],
    "latin1.txt": lambda: "= Café =\n\nLe thé est là.\n".encode() + "Le café est là.\n".encode("latin-1"),
    "empty.jsonl": lambda: b"",
    "text.docx": lambda: made({"word/document.xml": "<w/>"}),
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
