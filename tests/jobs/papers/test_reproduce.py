"""The tables of a paper, from the declaration to the file: computed once, interrupted, resumed, from own files."""

import csv
import json
import lzma
import os
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import themescope.jobs.papers.tables as measuring
from tests.jobs.helpers import WORDS
from tests.jobs.papers.conftest import content, rows
from themescope.core.errors import Cancelled, ConfigError, ReadError, UnknownNameError
from themescope.core.papers import paper
from themescope.core.papers.sjh17 import BAGS, ENGINE, NEWSGROUPS, REUTERS, SJH17, TUNING
from themescope.core.papers.spec import ClusteringMeasures, Measure, Paper, ResultTable, RunProfile, models_of
from themescope.core.records.stored import JobStatus
from themescope.core.types import Split
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.common.articles import file_digest
from themescope.jobs.common.models import pretrained_models
from themescope.jobs.kinds import check_job
from themescope.jobs.papers.document import document
from themescope.jobs.papers.sources import triplet_files
from themescope.jobs.papers.tables import PENDING, summary
from themescope.jobs.queue.runner import resume_here, run_here
from themescope.jobs.queue.worker import LEFTOVER_AGE, remove_leftovers

Reproduce = Callable[..., dict[str, Any]]
DOCS = Path(__file__).parents[3] / "docs"
SHIPPED = sorted(DOCS.glob("results-*.md"))
SHARED = Path(os.environ.get("THEMESCOPE_SHARED_DATA") or DOCS.parents[1] / "shared" / "data")


def test_an_interrupted_run_goes_on_where_it_was_and_a_second_one_computes_nothing(
    corpus: Store, reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job, models = _interrupted(corpus, reproduce, monkeypatch)
    assert not (tmp_path / "docs").exists(), "an unfinished run writes nothing"
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


def _interrupted(corpus: Store, reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch) -> tuple[int, set[int]]:
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
    assert content(corpus, "1")["complete"]
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
    corpus: Store, reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch
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


def test_own_copies_of_published_files(corpus: Store, reproduce: Reproduce, tmp_path: Path) -> None:
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


def test_the_articles_of_both_folders_are_one_corpus(corpus: Store, reproduce: Reproduce, tmp_path: Path) -> None:
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


def test_wrong_arguments_are_refused_before_anything_is_queued_and_missing_files_said_in_their_row(
    corpus: Store, reproduce: Reproduce, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "results.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"results\.json exists.*--replace"):
        reproduce(tables=["1"], replace=False)
    with pytest.raises(ConfigError, match=r"ending \.md"):
        check_job("reproduce", {"paper": "tiny", "document": "results.json"})
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
    assert reproduce(sick="", words="glove-6b-50d", tables=["5"])["rows_not_measured"] == 3
    assert "SICK is missing" in rows(corpus, "5")["mean"]["missing"]


def test_nothing_is_swept_under_a_running_reproduction(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("themescope.jobs.queue.worker.LEFTOVER_AGE", LEFTOVER_AGE * 0)
    with sqlite_store.writing() as w:
        w.corpora.create("half", "en")
        job = w.jobs.add("reproduce", "Reproduce", {})
    assert remove_leftovers(sqlite_store) == []
    with sqlite_store.writing() as w:
        w.jobs.request_cancel(job.id, stale_s=60)
    assert remove_leftovers(sqlite_store) == ["half"]


def test_intervals_resample_items_after_averaging_over_seeds() -> None:
    items = np.arange(4)
    readings = [
        measuring.Measurement({"m": float(np.mean(v))}, {"m": measuring.PerItem(np.array(v), items)})
        for v in ([0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0])
    ]
    found = summary("m", readings)
    assert (found["value"], found["low"], found["high"]) == (0.5, 0.5, 0.5)
    assert found["spread"] == 0.0 and found["n"] == 4


# --- documents of results: what they say about a run equals its records -----------------------------------------------


def headers(text: str) -> dict[str, tuple[list[int], str]]:
    """Return title of a table → seeds of its header, and its section."""
    found = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        seeds = re.search(r"[Ss]eeds?(?: of this table:)? ([\d, ]+)", section)
        if seeds:
            found[section.partition("\n")[0]] = ([int(seed) for seed in seeds[1].split(", ")], section)
    return found


def test_headers_state_what_ran(corpus: Store, reproduce: Reproduce, data: Path, tmp_path: Path) -> None:
    reproduce(tables=["2"], seeds=2)
    reproduce(tables=["4"], seeds=1, articles=2)
    text = (tmp_path / "docs" / "results.md").read_text(encoding="utf-8")
    records = json.loads((tmp_path / "docs" / "results.json").read_text(encoding="utf-8"))
    assert records["tables"] == {table: content(corpus, table) for table in ("2", "4")}
    made = records["tables"]["2"]["made"]
    assert made["machine"] and made["seconds"]["evaluations"] > 0
    with corpus.reading() as r:
        fits = sum(m.metrics["seconds"] for m in r.models.list() if m.method == "mean-vectors" or m.seed < 2)
        assert 0 <= made["seconds"]["fits"] <= round(fits, 1)
        digests = {f"triplets {found.kind}": found.digest for found in r.triplets.list() if found.kind == "sentences"}
    assert {name: made["data"][name] for name in digests} == digests and made["data"]["C"]
    assert made["data"]["words.txt"] == file_digest(data / "words.txt")
    (claim, *_) = records["tables"]["2"]["claims"]
    listed = f"**Table 2: Accuracy**\n\n- {claim['verdict']}: net | small > mean-vectors by "
    assert listed in text.partition("## ")[0]
    accuracy, clusters = headers(text).values()
    assert (accuracy[0], clusters[0]) == ([0, 1], [0])
    ours = {table: content(corpus, table)["rows"][0]["ours"] for table in ("2", "4")}
    assert f"Profile quick; seeds 0, 1; test split; n = {ours['2']['accuracy']['n']}." in accuracy[1]
    limits = "at most 2 articles of each data set; at most 20 documents of a topic task"
    assert f"Profile quick; seed 0; test split; {limits}; n = {ours['4']['ami']['n']}." in clusters[1]
    absent = "Table 1: Counts 1; Table 3: Counts 3; Table 5: Pairs; Example predictions"
    assert f"No finished run with this profile: {absent}." in text
    with corpus.reading() as r:
        nets = [model for model in r.models.list() if model.method == "triplets-sen" and model.seed < 2]
    for name in ("hidden", "attention", "triplets_per_epoch"):
        assert f"{name}={nets[0].config[name]}," in accuracy[1]
    assert "- mean: defaults." in accuracy[1] and "\n- tfidf: defaults." in clusters[1]
    assert "word_vectors" not in text and "Less of everything." not in text


def test_ed18_quick_by_the_command_line_replaces_nothing_unless_asked(
    corpus: Store, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    shipped = tmp_path / "docs" / "results-ed18.md"
    shipped.write_text("Full results.", encoding="utf-8")
    command = ["reproduce", "ed18", "--corpus", "C", "--words", str(data / "words.txt"), "--sick", str(data / "sick")]
    for table in ("triplet-sets", "benchmark", "5"):
        command += ["--table", table]
    command += ["--seeds", "1", "--profile"]
    printed = []
    for code, more in (
        (0, ["quick", "--json"]),
        (2, ["quick"]),
        (2, ["full"]),
        (0, ["quick", "--replace", "--json"]),
        (0, ["quick", "--replace"]),
    ):
        with pytest.raises(SystemExit) as exit_:
            main([*command, *more])
        assert exit_.value.code == code
        printed.append(capsys.readouterr().out)
    assert not json.loads(printed[0])["cached"] and json.loads(printed[3])["computed"] == 0
    assert "All results were stored already" in printed[4]
    assert shipped.read_text(encoding="utf-8") == "Full results."
    with corpus.reading() as r:
        record = r.papers.find("ed18", "5", "quick")
    assert record is not None
    learned = next(row for row in record.content["rows"] if row["id"] == "triplets-sen-titles-unit")
    assert learned["ours"]["pearson"]["seeds"] == [learned["ours"]["pearson"]["value"]]
    text = (tmp_path / "docs" / "results-ed18-quick.md").read_text(encoding="utf-8")
    assert "Profile quick" in text and "1,779,417" in text and "· .818 ·" in text
    assert "\n## The clustering benchmark\n" in text
    assert "No finished run with this profile: Table 3: Triplet accuracy on unseen articles; Table 4: " in text


@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_shipped_documents_claim_what_ran(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    beside = path.with_suffix(".json")
    if beside.exists():
        records = json.loads(beside.read_text(encoding="utf-8"))
        assert text == document(paper(records["paper"]), records["profile"], records["tables"])
    assert "has not reached this row yet" not in text
    assert not re.search(r"\b(two|three|four|five|\d+) (runs|seeds)\b", text.partition("\n## ")[0])
    for title, (seeds, section) in headers(text).items():
        assert len(seeds) > 1 or "±" not in section, title


@pytest.mark.slow
@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_three_random_cells_are_computed_anew(path: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows whose models are fitted in minutes: the networks of Ein Dor et al. take hours each."""
    if not path.with_suffix(".json").exists():
        pytest.skip(f"{path.name} has no records: its tables are those of version 0.1")
    if not SHARED.is_dir():
        pytest.skip(f"no shared data at {SHARED} (set THEMESCOPE_SHARED_DATA)")
    records = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    declared = paper(records["paper"])
    cells = [
        (table, row["id"], metric)
        for table in declared.tables
        for row in records["tables"].get(table.id, {"rows": []})["rows"]
        if not any(declared.model(model).triplets for model in _with_parts(declared, table.row(row["id"]).measure))
        for metric in row["ours"]
        if metric != measuring.SECONDS
    ]
    for table, row, metric in random.sample(cells, 3):
        cut = replace(declared, tables=(replace(table, rows=(table.row(row),), claims=()),))
        monkeypatch.setattr("themescope.jobs.papers.tables.paper", lambda _, cut=cut: cut)
        args = {"paper": declared.id, "profile": records["profile"], "data": str(SHARED), "seeds": 1}
        run_here(sqlite_store, "reproduce", args, quiet=True)
        with sqlite_store.reading() as r:
            (found,) = r.papers.find(declared.id, table.id, records["profile"]).content["rows"]
        kept = next(one for one in records["tables"][table.id]["rows"] if one["id"] == row)["ours"][metric]
        assert found["ours"][metric]["seeds"][0] == pytest.approx(kept["seeds"][0], abs=5e-4), (table.id, row, metric)


def _with_parts(declared: Paper, measure: Measure) -> list[str]:
    found = list(models_of(measure))
    for id in found:
        found += declared.model(id).parts
    return found


# --- the tables of Saha et al. 2017, cut down to a few rows: from files in a data folder to the numbers ---------------

THEMES = {
    "sci.space": ["rocket", "orbit", "moon", "launch", "satellite", "shuttle"],
    "rec.autos": ["engine", "wheel", "brake", "dealer", "clutch", "tyre"],
    "sci.med": ["doctor", "patient", "fever", "vitamin", "disease", "dose"],
}
SENTENCES, DOCUMENTS = 4, 12
_SMALL = {"dim": 8, "epochs": 4, "threads": 1}
PROFILE = RunProfile("quick", "Quick", "Tiny.", seeds=(0, 1), budgets={ENGINE: _SMALL, TUNING: _SMALL, BAGS: _SMALL})
KEPT = {
    "4-newsgroups": ("sen2vec", "tfidf", "con-s2v-dis", "neighbour-mean"),
    "5-billsum": ("sen2vec", "tfidf", "lead"),
}


def _cut(table: ResultTable) -> ResultTable:
    rows = tuple(row for row in table.rows if row.id in KEPT[table.id])
    ids = {row.id for row in rows}
    claims = tuple(claim for claim in table.claims if {claim.first, claim.second} <= ids)
    return replace(table, rows=rows, claims=claims)


def _only(table: ResultTable, *rows: str) -> ResultTable:
    return replace(table, rows=tuple(table.row(row) for row in rows), claims=())


_TABLES = {table.id: table for table in SJH17.tables}
CUT: Paper = replace(
    SJH17,
    tables=(
        _only(_TABLES["1"], "billsum"),
        _only(_TABLES["2"], NEWSGROUPS, REUTERS),
        _only(_TABLES["3"], f"{NEWSGROUPS}:reg-dis"),
        *(_cut(_TABLES[id]) for id in KEPT),
    ),
    profiles=(PROFILE,),
)


def _sentence(words: list[str], number: int) -> str:
    return " ".join(words[(number + i) % len(words)] for i in range(4)).capitalize() + " was seen."


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """A data folder with newsgroups and bills, and without Reuters."""
    news, bills = tmp_path / "data" / "newsgroups20", tmp_path / "data" / "summaries"
    news.mkdir(parents=True)
    bills.mkdir()
    for part in ("train", "test"):
        lines = [
            {"id": f"{group}/{part}{d}", "group": group, "split": part,
             "text": f"From: a@b.c\nSubject: {d}\n\n" + " ".join(_sentence(words, d + s) for s in range(SENTENCES))}
            for group, words in THEMES.items() for d in range(DOCUMENTS)
        ]  # fmt: skip
        (news / f"8groups-{part}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    documents = [
        {"id": f"b{d}", "title": "A bill", "text": " ".join(_sentence(words, d + s) for s in range(30)),
         "summary": _sentence(words, d)}
        for d, words in enumerate(THEMES.values())
    ]  # fmt: skip
    (bills / "billsum100.jsonl.xz").write_bytes(
        lzma.compress("".join(json.dumps(x) + "\n" for x in documents).encode())
    )
    return tmp_path / "data"


def test_the_tables_of_sjh17(
    sqlite_store: Store, folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("themescope.jobs.papers.tables.paper", lambda _: CUT)
    args = {"paper": "sjh17", "data": str(folders), "document": str(tmp_path / "results.md"), "replace": True}
    first = resume_here(sqlite_store, "reproduce", args, quiet=True)
    assert (first["rows"], first["rows_not_measured"]) == (11, 1)
    sizes = rows(sqlite_store, "2", "sjh17")
    assert "reuters21578" in sizes[REUTERS]["missing"] and "--data" in sizes[REUTERS]["missing"]
    found = {name: score["value"] for name, score in sizes[NEWSGROUPS]["ours"].items()}
    documents = 2 * DOCUMENTS * len(THEMES)
    assert (found["documents"], found["sentences"]) == (documents, documents * SENTENCES)
    assert found["annotated"] == documents == found["train"] + found["validation"] + found["test"]
    assert rows(sqlite_store, "3", "sjh17")[f"{NEWSGROUPS}:reg-dis"]["ours"]["value"]["value"] in (0.3, 0.5, 0.8, 1.0)
    topics = rows(sqlite_store, "4-newsgroups", "sjh17")
    assert set(topics) == set(KEPT["4-newsgroups"])
    accuracy = topics["neighbour-mean"]["ours"]["accuracy"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"] and len(accuracy["seeds"]) == 2
    assert topics["tfidf"]["ours"]["accuracy"]["value"] > 0.9
    assert topics["neighbour-mean"]["ours"]["seconds"]["value"] >= topics["sen2vec"]["ours"]["seconds"]["value"] >= 0
    assert "made of: " in topics["neighbour-mean"]["data"]
    assert topics["sen2vec"]["difference"]["V"] == pytest.approx(topics["sen2vec"]["ours"]["V"]["value"] - 0.353)
    bills = rows(sqlite_store, "5-billsum", "sjh17")
    assert bills["lead"]["ours"]["recall"]["n"] == len(THEMES) and len(bills["sen2vec"]["runs"]) == 1  # of two seeds
    assert rows(sqlite_store, "1", "sjh17")["billsum"]["ours"]["documents"]["value"] == len(THEMES)
    second = resume_here(sqlite_store, "reproduce", args, quiet=True)
    assert (second["computed"], second["cached"]) == (0, True)
    fewer = resume_here(sqlite_store, "reproduce", args | {"seeds": 1}, quiet=True)
    assert fewer["computed"] == 0 and len(rows(sqlite_store, "4-newsgroups", "sjh17")["sen2vec"]["runs"]) == 1
    assert "Profile quick; seed 0; test split; n = " in (tmp_path / "results.md").read_text(encoding="utf-8")
