"""Bad input, given to a command and to a job: one sentence, an honest exit code, and a store as it was before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from tests.bad_files import write_bad, write_pickled_model
from tests.homes import MakeHome
from tests.jobs.helpers import get, write_articles
from themescope.core.errors import ThemescopeError
from themescope.core.records.stored import JobStatus
from themescope.db import tables as t
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.runner import Runner, run_here

Case = tuple[list[str], str, dict[str, Any]]
Make = Callable[[Path], Case]


def imported(name: str, **more: str) -> Make:
    def make(folder: Path) -> Case:
        path = str(folder / name) if name == "nowhere.txt" else str(write_bad(folder, name))
        options = [word for key, value in more.items() for word in (f"--{key}", value)]
        command = ["import", path, *(options if "corpus" in more else ["--corpus", "X", *options])]
        return command, "import-corpus", {"files": [path], "corpus": "X", **more}

    return make


def sampled(setting: str, value: Any, corpus: str = "C") -> Make:
    return lambda _: (
        ["triplets", corpus, "--set", f"{setting}={value}"],
        "build-triplets",
        {"corpus": corpus, "name": "T", "rules": {setting: value}},
    )


def trained(folder: Path) -> Case:
    table = str(write_bad(folder, "ragged.txt"))
    settings = {"word_vectors": table}
    command = ["train", "mean-vectors", "--set", f"word_vectors={table}"]
    return command, "train", {"method": "mean-vectors", "name": "M", "settings": settings}


def added(folder: Path) -> Case:
    model = str(write_pickled_model(folder))
    return ["add-model", model], "add-model", {"folder": model, "name": "M"}


def judged(folder: Path) -> Case:
    path = str(write_bad(folder, "triplets.csv"))
    command = ["evaluate", "triplets", path, "--method", "tfidf model"]
    return command, "evaluate-triplets", {"model": "tfidf model", "file": path}


CASES: dict[str, tuple[Make, str]] = {
    "truncated bz2": (imported("truncated.xml.bz2"), "byte 0 of the decompressed text: the bzip2 file"),
    "wrong encoding": (imported("latin1.txt"), "latin1.txt, line 4: this line is not UTF-8 text, although 2 other"),
    "empty file": (imported("empty.jsonl"), "empty.jsonl: the file is empty. Check that"),
    "a ZIP": (imported("text.docx"), "No article was found in text.docx, read as word (skipped: 1 × no text)."),
    "no such path": (imported("nowhere.txt"), "nowhere.txt: this file does not exist. Check its path"),
    "unknown language": (imported("small.txt", language="tlh"), "split sentences in called 'tlh'. Known: am, ar,"),
    "taken corpus name": (imported("small.txt", corpus="C"), "A corpus called 'C' exists already. Choose another"),
    "unknown corpus": (sampled("min_tokens", 5, "Corpsu"), "There is no corpus called 'Corpsu'. Known: C, small."),
    "setting out of range": (sampled("min_tokens", 0), "Minimum tokens (min_tokens) must be at least 1, not 0."),
    "unknown setting": (sampled("min_token", 5), "called 'min_token'. Did you mean 'min_tokens'"),
    "setting of another type": (sampled("min_tokens", "five"), "(min_tokens) must be a whole number, not 'five'."),
    "corpus too small": (sampled("min_tokens", 5, "small"), "0 of 1 articles have enough sections. Triplets need"),
    "ragged word vectors": (trained, "ragged.txt, line 3: there are fewer numbers than in the preceding lines. Every"),
    "pickle as a model": (added, "model.json: it contains binary data instead of JSON (pickles are never opened)."),
    "triplet without a sentence": (judged, "triplets.csv, line 3: Sentence2 is empty. Every triplet needs three"),
}


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two corpora, one of them tiny, and a model."""
    folder = tmp_path_factory.mktemp("files")

    def fill(store: Store) -> None:
        for path, name in ((write_articles(folder, 12), "C"), (write_bad(folder, "small.txt"), "small")):
            run_here(store, "import-corpus", {"files": [str(path)], "corpus": name}, quiet=True)
        run_here(store, "train", {"method": "tfidf", "name": "tfidf model", "corpus": "C"}, quiet=True)

    return make_home(fill)


def rows(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row but those about background work."""
    about_work = {"job", "job_metric", "worker"}
    with store.reading() as r:
        return {
            table.name: [tuple(row) for row in r.corpora.connection.execute(sa.select(table))]
            for table in t.metadata.sorted_tables
            if table.name not in about_work
        }


def as_job(store: Store, kind: str, args: dict[str, Any]) -> str:
    """What the job's row says in the end, or why the job is not queued at all."""
    try:
        job = enqueue(store, kind, args)
    except ThemescopeError as refusal:
        return str(refusal)
    Runner(store).run_next()
    row = get(store, job.id)
    assert (row.status, row.traceback) == (JobStatus.FAILED, "")
    return row.error


@pytest.mark.parametrize("case", CASES)
def test_a_sentence_and_an_unchanged_store(case: str, filled: Store, tmp_path: Path) -> None:
    make, sentence = CASES[case]
    command, kind, args = make(tmp_path)
    before = rows(filled)
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2 and sentence in result.stderr and "Traceback" not in result.output
    assert sentence in as_job(filled, kind, args)
    assert rows(filled) == before
