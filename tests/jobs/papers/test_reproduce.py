"""The tables of a paper, from the declaration to the file: computed once, interrupted, resumed, from own files."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import themescope.jobs.papers.tables as measuring
from tests.jobs.helpers import WORDS
from tests.jobs.papers.conftest import content, rows
from themescope.core.errors import Cancelled, ConfigError, ReadError, UnknownNameError
from themescope.core.papers.spec import ClusteringMeasures
from themescope.core.records.stored import JobStatus
from themescope.core.types import Split
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.common.models import pretrained_models
from themescope.jobs.kinds import check_job
from themescope.jobs.papers.sources import triplet_files
from themescope.jobs.papers.tables import PENDING, summary
from themescope.jobs.queue.runner import run_here
from themescope.jobs.queue.worker import LEFTOVER_AGE, remove_leftovers


def test_an_interrupted_run_goes_on_where_it_was_and_a_second_one_computes_nothing(
    corpus: Store, reproduce: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job, models = _interrupted(corpus, reproduce, monkeypatch)
    first = reproduce()
    assert first["job"] == job
    path = tmp_path / "docs" / "results.md"
    written = path.read_bytes()
    assert (first["cached"], first["rows"], first["rows_not_measured"]) == (False, 13, 1 if pretrained_models() else 2)
    assert first["tables"] == ["1", "2", "3", "4", "5", "examples"]
    assert first["reused"] > 5
    assert not any(row["missing"] for row in rows(corpus, "4").values())
    with corpus.reading() as r:
        assert len(r.papers.list("tiny")) == 6
        assert models <= {model.id for model in r.models.list()}
    second = reproduce()
    assert (second["computed"], second["cached"]) == (0, True)
    assert second["reused"] == first["computed"] + first["reused"]
    assert path.read_bytes() == written
    assert second["job"] != first["job"]
    _check_tables(corpus)
    _check_document(written.decode("utf-8"))


def _interrupted(
    corpus: Store, reproduce: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, set[int]]:
    """Begin, and stop in the midst of table 4. The job, and the models that were there by then."""
    original = measuring._clustering

    def broken(wanted: ClusteringMeasures, *args: Any) -> Any:
        if wanted.model == "tfidf":
            raise KeyboardInterrupt
        return original(wanted, *args)

    with monkeypatch.context() as patch, pytest.raises(Cancelled):
        patch.setattr(measuring, "_clustering", broken)
        reproduce()
    unfinished = content(corpus, "4")
    assert not unfinished["complete"] and unfinished["rows"][0]["ours"]
    assert [row["missing"] for row in unfinished["rows"]] == ["", PENDING, PENDING]
    with corpus.reading() as r:
        (job,) = [job for job in r.jobs.list() if job.kind == "reproduce"]
        assert job.status is JobStatus.CANCELLED
        assert [table.name for table in r.papers.list("tiny")] == ["1", "2", "3", "4"]
        return job.id, {model.id for model in r.models.list()}


def _check_tables(store: Store) -> None:
    accuracy = rows(store, "2")["net"]
    ours = accuracy["ours"]["accuracy"]
    assert ours["value"] == pytest.approx(np.mean(ours["seeds"])) and len(ours["seeds"]) == 3
    assert ours["spread"] == pytest.approx(np.std(ours["seeds"], ddof=1))
    assert ours["low"] <= ours["value"] <= ours["high"] and ours["n"] > 5
    assert accuracy["difference"]["accuracy"] == pytest.approx(ours["value"] - 0.74)
    assert "learned from 64 draws of" in accuracy["data"] and "words.txt" in accuracy["data"]
    assert len(rows(store, "2")["mean"]["ours"]["accuracy"]["seeds"]) == 1  # nothing about it is random
    clusters = content(store, "4")
    assert [claim["verdict"] for claim in clusters["claims"]] == ["holds", "holds"]
    assert all(claim["p"] <= claim["p_holm"] < 0.05 for claim in clusters["claims"])
    assert len(rows(store, "4")["both"]["runs"]) == 3
    pairs = rows(store, "5")["mean"]["ours"]
    assert pairs["pearson"]["low"] < pairs["pearson"]["value"] and pairs["mse"]["n"] == 31
    examples = rows(store, "examples")
    assert examples["known"]["ours"]["score"]["value"] == 4.5
    assert 1 <= examples["known"]["ours"]["mean-vectors"]["value"] <= 5
    assert "does not have the pair" in examples["other"]["missing"]
    assert rows(store, "1")["t"]["ours"]["train"] == {"value": 168.0, "seeds": [168.0]}
    assert rows(store, "3")["b"]["difference"]["articles"] == rows(store, "3")["b"]["ours"]["articles"]["value"] - 692


def _check_document(text: str) -> None:
    assert text.startswith("# Results: A tiny paper\n") and text.endswith("\n")
    assert "Do not edit" in text and "Less of everything." not in text
    for title in ("## Table 1: Counts 1", "## Table 4: Clusters", "| net \\| small | "):
        assert title in text
    assert "· 692 · -" in text and "Nothing differs." in text and "| both > random | AMI | +." in text
    assert "words.txt" in text and str(Path.home()) not in text


def test_a_training_that_was_killed_finds_its_checkpoint(
    corpus: Store, reproduce: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from themescope.core.models.triplet_network.model import TripletNet

    folders: list[Path] = []
    original = TripletNet.fit

    def fit(self: TripletNet, corpus: Any, report: Any) -> None:
        folders.append(report.checkpoint_folder())
        (folders[-1] / "half-done").touch()
        if len(folders) == 1:
            raise KeyboardInterrupt
        (folders[-1] / "half-done").unlink()
        original(self, corpus, report)

    monkeypatch.setattr(TripletNet, "fit", fit)
    with pytest.raises(Cancelled):
        reproduce(tables=["2"])
    assert (folders[0] / "half-done").is_file()
    reproduce(tables=["2"])
    assert folders[1] == folders[0] and len(set(folders)) == 3
    assert not any(folder.exists() for folder in folders)


def test_what_is_not_at_hand_is_said_in_its_row(corpus: Store, reproduce: Callable[..., dict[str, Any]]) -> None:
    result = reproduce(sick="", words="glove-6b-50d", tables=["5"])
    assert result["rows_not_measured"] == 3
    assert "SICK is missing" in rows(corpus, "5")["mean"]["missing"]


def test_own_copies_of_published_files(corpus: Store, reproduce: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    reproduce(tables=["2"])
    folder = tmp_path / "published"
    folder.mkdir()
    with corpus.reading() as r:
        (record,) = [s for s in r.triplets.list() if s.kind == "sentences"]
        texts = {split: r.triplets.texts(record.id, split) for split in Split}
    for split, found in texts.items():
        with (folder / f"{split.value}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["Sentence1", "Sentence2", "Sentence3"])
            writer.writerows(zip(found.pivots, found.positives, found.negatives, strict=True))
    scb = tmp_path / "scb.csv"
    lines = ["Article Title,Sentence,SectionTitle,Article Link"]
    for article in ("Article 1", "Other"):
        lines += [f"{article},The {w} stood near the {w} number {i}.,{w},x" for w in WORDS[:5] for i in range(4)]
    scb.write_text("\n".join(lines) + "\n", encoding="utf-8")
    before = rows(corpus, "2")["mean"]["ours"]["accuracy"]["value"]
    reproduce(tables=["2", "3"], triplets=str(folder), scb=str(scb))
    mean, net = (rows(corpus, "2")[id] for id in ("mean", "net"))
    assert mean["ours"]["accuracy"]["value"] == pytest.approx(before)
    assert "triplets of test.csv" in mean["data"] and "learned from train.csv" in net["data"]
    assert rows(corpus, "3")["b"]["ours"]["clusters"]["value"] == 10
    again = reproduce(tables=["2", "3"], triplets=str(folder), scb=str(scb))
    assert again["computed"] == 0


def test_the_articles_of_both_folders_are_one_corpus(
    corpus: Store, reproduce: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    for folder, titles in (("wikipedia/articles", ["A", "B"]), ("wikipedia-more", ["C"])):
        (tmp_path / folder).mkdir(parents=True)
        sections = [{"title": word, "paragraphs": [f"The {word} stood near the old market."]} for word in WORDS[:6]]
        lines = [json.dumps({"title": title, "sections": sections}) + "\n" for title in titles]
        (tmp_path / folder / "some.jsonl").write_text("".join(lines), encoding="utf-8")
    reproduce(corpus="", data=str(tmp_path), tables=["1"])
    with corpus.reading() as r:
        assert {found.name: found.articles for found in r.corpora.list()}["wikipedia"] == 3


def test_triplet_files_are_told_apart_by_name(tmp_path: Path) -> None:
    for name in ("wiki_train.csv", "wiki_validation.csv", "wiki_test.csv"):
        (tmp_path / name).touch()
    assert [triplet_files(tmp_path)[split].name for split in Split] == [
        "wiki_train.csv", "wiki_validation.csv", "wiki_test.csv"
    ]  # fmt: skip
    assert triplet_files(tmp_path / "wiki_test.csv") == {Split.TEST: tmp_path / "wiki_test.csv"}
    (tmp_path / "my_test.csv").touch()
    with pytest.raises(ReadError, match=r"my_test\.csv and wiki_test\.csv"):
        triplet_files(tmp_path)
    with pytest.raises(ReadError, match="no CSV file of triplets"):
        triplet_files(tmp_path / "nothing")


def test_wrong_arguments_are_refused_before_anything_is_queued(corpus: Store, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'ed18'"):
        check_job("reproduce", {"paper": "ed81"})
    with pytest.raises(UnknownNameError, match="profile"):
        check_job("reproduce", {"paper": "ed18", "profile": "quickly"})
    with pytest.raises(UnknownNameError, match="table"):
        check_job("reproduce", {"paper": "ed18", "tables": ["7"]})
    with pytest.raises(ConfigError, match="--corpus"):
        run_here(corpus, "reproduce", {"paper": "tiny"}, quiet=True)
    with pytest.raises(ReadError, match="does not exist"):
        run_here(corpus, "reproduce", {"paper": "tiny", "data": str(tmp_path / "none")}, quiet=True)


def test_nothing_is_swept_away_under_a_running_reproduction(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("themescope.jobs.queue.worker.LEFTOVER_AGE", LEFTOVER_AGE * 0)
    with sqlite_store.writing() as w:
        w.corpora.create("half", "en")
        job = w.jobs.add("reproduce", "Reproduce", {})
    assert remove_leftovers(sqlite_store) == []
    with sqlite_store.writing() as w:
        w.jobs.request_cancel(job.id, stale_s=60)
    assert remove_leftovers(sqlite_store) == ["half"]


def test_ed18_quick_by_the_command_line(
    corpus: Store, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ed18.md"
    command = ["reproduce", "ed18", "--profile", "quick", "--corpus", "C", "--words", str(data / "words.txt")]
    command += ["--sick", str(data / "sick"), "--document", str(path)]
    for table in ("triplet-sets", "benchmark", "5"):
        command += ["--table", table]
    command += ["--seeds", "1"]
    results = []
    for again in ([], ["--replace"]):
        with pytest.raises(SystemExit) as exit_:
            main([*command, *again, "--json"])
        assert exit_.value.code == 0
        results.append(json.loads(capsys.readouterr().out))
    assert (results[0]["cached"], results[1]["computed"]) == (False, 0)
    with corpus.reading() as r:
        record = r.papers.find("ed18", "5", "quick")
    assert record is not None
    learned = next(row for row in record.content["rows"] if row["id"] == "triplets-sen-titles-unit")
    assert learned["ours"]["pearson"]["seeds"] == [learned["ours"]["pearson"]["value"]]
    text = path.read_text(encoding="utf-8")
    assert "1,779,417" in text and "· .818 ·" in text and "\n## The clustering benchmark\n" in text
    assert "No finished run with this profile: Table 3: Triplet accuracy on unseen articles; Table 4: " in text
    with pytest.raises(SystemExit):
        main([*command, "--replace"])
    assert "All results were stored already" in capsys.readouterr().out


def test_intervals_resample_items_after_averaging_over_seeds() -> None:
    items = np.arange(4)
    readings = [
        measuring.Measurement({"m": float(np.mean(v))}, {"m": measuring.PerItem(np.array(v), items)})
        for v in ([0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0])
    ]
    found = summary("m", readings)
    assert (found["value"], found["low"], found["high"]) == (0.5, 0.5, 0.5)
    assert found["spread"] == 0.0 and found["n"] == 4
