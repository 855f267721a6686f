"""The command line: what it prints, and what it exits with."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tests.core.models.triplet_network.themes import theme_triplets
from tests.jobs.helpers import PATIENCE_S, program, program_environment, wait_for, write_articles
from tests.jobs.test_queue import stored
from themescope.core.records.stored import JobStatus
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.queue import runner
from themescope.jobs.services import installation

pytestmark = pytest.mark.usefixtures("sqlite_store")


def call(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def call_json(*args: str | Path) -> dict[str, Any]:
    result = call(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    call_json("import", write_articles(tmp_path, 30), "--corpus", "C")
    return "C"


def test_the_whole_way(corpus: str) -> None:
    assert call_json("triplets", corpus, "--name", "T", "--set", "profile=max-signal")["triplets"] == "T"
    assert call_json("train", "mean-vectors", "--set", "vocabulary_limit=2000")["model"] == "mean-vectors"
    assert call_json("embed", corpus, "--method", "mean-vectors")["embedded"] == 30
    accuracy = call_json("evaluate", "triplets", "T", "--method", "mean-vectors", "--method", "tfidf")
    rows = [(row["model"], row["context"]) for row in accuracy["rows"]]
    assert rows == [("mean-vectors", False), ("tfidf", False), ("tfidf", True)]
    scores = call_json(
        "evaluate", "scb", corpus, "--method", "tfidf", "--clusterer", "random", "--clusterer", "kmeans",
        "--split", "train", "--seed", "1",
    )  # fmt: skip
    assert [(row["model"], row["clusterer"]) for row in scores["rows"]] == [("", "random"), ("tfidf", "kmeans")]
    drawn = call_json("map", corpus, "--method", "mean-vectors", "--title", "Article 3", "--set", "epochs=5")
    assert drawn["points"] == 49
    for what in ("corpora", "triplets", "models", "benchmarks", "runs", "maps"):
        assert len(call_json("list", what)[what]) >= 1
    assert len(call_json("jobs", "list")["jobs"]) >= 9


def test_triplets_of_a_file_are_imported_and_trained_on(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    texts = theme_triplets(articles=20, per_article=6)
    columns = texts.pivots, texts.positives, texts.negatives, texts.groups.astype(str).tolist()
    rows = [",".join(row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(["pivot,positive,negative,group", *rows]), encoding="utf-8")
    assert call_json("triplets", path, "--name", "T")["counts"]["triplets"]["total"] == 120
    small = ("hidden=16", "attention=8", "epochs=15", "vocabulary_limit=10", "learning_rate=0.01", "patience_stop=20")
    settings = [part for pair in small for part in ("--set", pair)]
    made = call_json("train", "triplets-sen", "--triplets", path, "--name", "M", *settings)
    assert made["model"] == "M" and made["metrics"]["best step"] > 0
    assert {one["name"] for one in call_json("list", "triplets")["triplets"]} == {"T", "mine"}
    assert call("triplets", tmp_path / "none.csv").exit_code == 2


def test_a_model_goes_from_one_store_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = tmp_path / "somewhere" / "vectors.txt"
    vectors.parent.mkdir()
    vectors.write_text("the 1 0\nriver 0 1\nstone 1 1\n", encoding="utf-8")
    call_json("train", "mean-vectors", "--name", "M", "--set", f"word_vectors={vectors}")
    folder = tmp_path / "handed on"
    assert call_json("export", "model", "M", folder)["megabytes"] < 1
    assert "somewhere" not in "".join(file.read_text("utf-8") for file in folder.glob("*.json"))
    theirs = (tmp_path / "theirs", "--format", "sentence-transformers")
    for target, said in (
        ([folder], "not an empty folder"),
        (theirs, "Methods that can"),
        ([*theirs, "--small"], "format themescope only"),
    ):
        refused = call("export", "model", "M", *target)
        assert (refused.exit_code, said in refused.stderr) == (2, True)
    monkeypatch.setenv("THEMESCOPE_HOME", str(tmp_path / "other"))
    assert call_json("add-model", folder)["model"] == "handed on"
    stored = [m for m in call_json("list", "models")["models"] if m["created"]]
    assert [m["name"] for m in stored] == ["handed on"]


def test_a_name_that_is_taken_is_told_before_the_work_and_after(corpus: str) -> None:
    call_json("train", "tfidf", "--corpus", corpus)
    assert "A model called" not in call("train", "word-counts", "--corpus", corpus).stderr
    told = call("train", "word-counts", "--corpus", corpus, "--name", "tfidf", "--set", "lowercase=false")
    before = "A model called 'tfidf' exists already. A new one will be called 'tfidf 2'.\n"
    assert told.exit_code == 0 and told.stderr.startswith(before)
    assert "the new one is called 'tfidf 2'." in told.stdout


def test_a_published_benchmark_file(tmp_path: Path) -> None:
    rows = ["Article Title,Sentence,SectionTitle,Article Link"]
    for section in ("Rivers", "Markets", "Engines"):
        rows += [f"Town,The {section.lower()} of the town are {i} years old.,{section},http://x" for i in range(6)]
    path = tmp_path / "scb.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    for _ in range(2):
        result = call_json("evaluate", "scb", path, "--method", "tfidf", "--clusterer", "kmeans")
        assert result["corpus"] == "scb"
        assert result["rows"][0]["scores"]["ami"]["n"] == 1
    assert result["rows"][0]["cached"]
    told = call("evaluate", "scb", path, "--method", "tfidf", "--clusterer", "kmeans").stdout
    assert "1 articles (fewer than 10, so without intervals)" in told and "[" not in told
    assert len(call_json("list", "corpora")["corpora"]) == 1


@pytest.mark.parametrize("what", ["methods", "clusterers", "readers", "metrics", "jobs"])
def test_list_what_is_registered(what: str) -> None:
    rows = call_json("list", what)[what]
    assert all(row["id"] and row["summary"] for row in rows)
    assert rows[0]["id"] in call("list", what).stdout


def test_background_leaves_the_work_to_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queued = call_json("import", write_articles(tmp_path, 3), "--corpus", "C", "--background")
    id = str(queued["job"])
    assert queued["status"] == "queued"
    assert call_json("list", "corpora") == {"corpora": []}
    assert call("jobs", "list").stdout.rstrip().endswith("themescope worker")
    Path(os.environ["THEMESCOPE_HOME"]).chmod(0o755)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=30_000_000))
    checks = json.loads(call("doctor", "--json").stdout)["checks"]
    found = " ".join(check["found"] for check in checks)
    assert "30.0 MB free" in found and (os.name != "posix" or "chmod 700" in found)
    (problem,) = [check for check in checks if not check["ok"]]
    assert (problem["name"], "1 queued jobs" in problem["found"]) == ("worker", True)
    assert call("doctor").exit_code == 1
    assert call_json("jobs", "cancel", id)["status"] == "cancelled"
    assert call("jobs", "show", id, "--follow").exit_code == 130  # like the job
    result = call("doctor")
    assert result.exit_code == 0 and "No problems found." in result.stdout
    assert call_json("jobs", "retry", id)["status"] == "queued"
    assert call("jobs", "show", id).exit_code == 0


def test_lines_of_a_text_file_are_texts_of_their_own(tmp_path: Path) -> None:
    (path := tmp_path / "answers.txt").write_text("The bus is late. It is full.\nTrains, too, are full.\n")
    assert call_json("import", str(path), "--corpus", "C", "--lines")["sentences"] == 2


BAD = {
    "no such command": (["relabel"], "No such command"),
    "missing option": (["import", "x.txt"], "--corpus"),
    "no pair": (["triplets", "C", "--set", "profile"], "--set: expected NAME=VALUE"),
    "no triplets": (["train", "triplets-sen"], "is trained on triplets"),
    "no models to join": (["train", "triplets-sen-titles"], "is made from fitted models"),
    "nothing joined yet": (["embed", "C", "--method", "hybrid"], "--model A --model B"),
    "absent pairs": (["evaluate", "sick", "nowhere", "--method", "mean-vectors"], "nowhere"),
    "no model yet": (["embed", "C", "--method", "triplets-sen"], "themescope train triplets-sen --triplets SET"),
    "unknown clusterer": (["evaluate", "scb", "C", "--method", "tfidf", "--clusterer", "kmean"], "'kmeans'"),
    "absent CSV": (["evaluate", "triplets", "none.csv", "--method", "tfidf"], "none.csv"),
    "no summarizer": (["evaluate", "summaries", "x.jsonl"], "at least one --method or --baseline"),
    "no such job": (["jobs", "cancel", "99"], "99"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    args, sentence = BAD[case]
    result = call(*args)
    assert result.exit_code == 2 and sentence in result.stderr and "Traceback" not in result.output


def test_bad_input_as_json() -> None:
    result = call("triplets", "nothing", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"].startswith("There is no corpus")


def test_what_packages_print_is_kept_out_of_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = runner.run_here

    def run_and_print(*args: Any, **kwargs: Any) -> dict[str, Any]:
        sys.stdout.write("The node with node id 1 has been marked dead.\n")
        return run(*args, **kwargs)

    monkeypatch.setattr(runner, "run_here", run_and_print)
    result = call("import", write_articles(tmp_path, 2), "--corpus", "C", "--json")
    assert json.loads(result.stdout)["corpus"] == "C" and "marked dead" in result.stderr


def test_commands_are_few_and_their_summaries_those_of_the_list() -> None:
    context = click.Context(main)
    commands = [main.resolve_command(context, [name])[1] for name in main.list_commands(context)]
    for command in commands:
        assert main.commands[command.name].get_short_help_str(1_000) == command.get_short_help_str(1_000)
    inner = [len(one.commands) if isinstance(one, click.Group) else 1 for one in commands]
    assert set(main.commands) == {command.name for command in commands if not command.hidden}
    assert len(commands) <= 26 and sum(inner) <= 40


def test_commands_of_jobs_have_the_help_and_limits_of_their_settings() -> None:
    shown = " ".join(call("triplets", "--help").stdout.split())
    assert "Texts compared with the pivot: sentences or section titles." in shown and "[sentences|titles]" in shown
    for wrong in (("triplets", "C", "--kind", "x"), ("train", "tfidf", "--seed", "-1"), ("map", "C", "--limit", "4")):
        refused = call(*wrong)
        assert refused.exit_code == 2 and wrong[-2] in refused.stderr, refused.stderr


def test_help_and_completion_import_nothing_heavy() -> None:
    completion = {"_THEMESCOPE_COMPLETE": "bash_complete", "COMP_WORDS": "themescope ", "COMP_CWORD": "1"}
    script = "from themescope.__main__ import command; command()"
    for arguments, variables in ((["--help"], {}), ([], completion)):
        env = program_environment() | variables | {"PYTHONPROFILEIMPORTTIME": "1"}
        code = f"import sys; sys.argv = ['themescope', *{arguments}]; {script}"
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert "doctor" in done.stdout
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "themescope.jobs.cli.main" in imported
        assert not imported & {"numpy", "sqlalchemy", "themescope.jobs.cli.work"}


def test_as_a_program(tmp_path: Path) -> None:
    command = program("import", write_articles(tmp_path, 2), "--corpus", "P", "--json")
    env = program_environment() | {"PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["articles"] == 2
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "themescope.db.store" in imported
    # Each of these takes as long as a third of the start.
    assert not imported & {"alembic", "pandas", "psycopg", "scipy", "sklearn", "streamlit", "torch"}


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C reaches a child process only on POSIX systems")
def test_ctrl_c_cancels_and_cleans_up(tmp_path: Path, sqlite_store: Store) -> None:
    # Held at its second write: the corpus is made and its first articles are in.
    command = program("import", write_articles(tmp_path, 100), "--corpus", "P", held=("write", 2))
    process = subprocess.Popen(command, env=program_environment(), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: stored(sqlite_store, "P"))
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert stderr.strip().endswith("Cancelled.")
    with sqlite_store.reading() as r:
        assert r.corpora.list(include_unready=True) == []
        assert [job.status for job in r.jobs.list()] == [JobStatus.CANCELLED]


def test_the_demo_is_queued_once(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(installation, "_DUMP", "no-such-file")
        result = call("jobs", "demo")
    assert result.exit_code == 2 and "pip install 'themescope[demo]'" in result.stderr
    jobs = call_json("jobs", "demo")["jobs"]
    kinds = [job["kind"] for job in jobs]
    assert kinds[0] == "import-corpus"
    assert {"build-triplets", "build-benchmark", "train", "evaluate-triplets", "cluster", "project"} <= set(kinds)
    assert call_json("jobs", "demo")["jobs"] == []
    with sqlite_store.reading() as r:
        rows = {job.id: job for job in r.jobs.list(limit=100)}
    assert [job.id for job in rows.values() if job.after is None] == [jobs[0]["id"]]
    assert Path(rows[jobs[0]["id"]].args["files"][0]).is_file()


def test_any_kind_runs_with_settings_inside_settings(corpus: str) -> None:
    args = ("jobs", "run", "train", "--set", "method=tfidf", "--set", "name=M", "--set", "corpus=C")
    made = call_json(*args, "--set", "settings.min_letters=2", "--set", "settings.scope=corpus")
    with_text = call_json(*args, "--set", 'settings={"min_letters": 2, "scope": "corpus"}')
    assert (made["cached"], with_text["cached"], with_text["model"]) == (False, True, "M")
    refused = call(*args, "--set", "settings.scoop=corpus")
    assert refused.exit_code == 2 and "Did you mean 'scope'" in refused.stderr
    twice = call(*args, "--set", "settings=tiny", "--set", "settings.scope=corpus")
    assert twice.exit_code == 2 and "settings.scope cannot be set" in twice.stderr
