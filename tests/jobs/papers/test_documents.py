"""Documents of results: what they say about a run equals its records, and nothing unfinished or replaced is written."""

import json
import os
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import themescope.jobs.papers.tables as measuring
from tests.jobs.papers.conftest import content
from themescope.core.errors import Cancelled, ConfigError
from themescope.core.papers import paper
from themescope.core.papers.spec import Measure, Paper, models_of
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.common.articles import file_digest
from themescope.jobs.kinds import check_job
from themescope.jobs.papers.document import document
from themescope.jobs.queue.runner import run_here

Reproduce = Callable[..., dict[str, Any]]
DOCS = Path(__file__).parents[3] / "docs"
SHIPPED = sorted(DOCS.glob("results-*.md"))
SHARED = Path(os.environ.get("THEMESCOPE_SHARED_DATA") or DOCS.parents[1] / "shared" / "data")


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
    assert f"- Table 2: Accuracy: {claim['verdict']}: net | small > mean-vectors by " in text.partition("## ")[0]
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


def test_an_unfinished_run_writes_nothing(
    corpus: Store, reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(*args: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(Cancelled):
        patch.setattr(measuring, "_clustering", stopped)
        reproduce(tables=["1", "4"])
    assert content(corpus, "1")["complete"]
    assert not (tmp_path / "docs").exists()


def test_nothing_is_replaced_unless_asked_for(
    corpus: Store, reproduce: Reproduce, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    shipped = tmp_path / "docs" / "results-ed18.md"
    shipped.write_text("Full results.", encoding="utf-8")
    command = ["reproduce", "ed18", "--corpus", "C", "--words", str(data / "words.txt"), "--table", "triplet-sets"]
    for profile, code in (("quick", 0), ("quick", 2), ("full", 2)):
        with pytest.raises(SystemExit) as exit_:
            main([*command, "--profile", profile])
        assert exit_.value.code == code
    assert shipped.read_text(encoding="utf-8") == "Full results."
    assert "Profile quick" in (tmp_path / "docs" / "results-ed18-quick.md").read_text(encoding="utf-8")
    (tmp_path / "docs" / "results.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"results\.json exists.*--replace"):
        reproduce(tables=["1"], replace=False)
    with pytest.raises(ConfigError, match=r"ending \.md"):
        check_job("reproduce", {"paper": "tiny", "document": "results.json"})


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
def test_three_random_cells_are_computed_again(
    path: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
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
