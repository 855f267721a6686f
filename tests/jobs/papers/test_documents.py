"""Documents of results: what they say about a run equals its records, and nothing unfinished or replaced is written."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import themescope.jobs.papers.measurements as measuring
from tests.jobs.papers.conftest import content
from themescope.core.errors import Cancelled, ConfigError
from themescope.core.papers import paper
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.kinds import check_job
from themescope.jobs.papers.document import document

Reproduce = Callable[..., dict[str, Any]]
DOCS = Path(__file__).parents[3] / "docs"
SHIPPED = sorted(DOCS.glob("results-*.md"))


def headers(text: str) -> dict[str, tuple[list[int], str]]:
    """Return title of a table → seeds of its header, and its section."""
    found = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        seeds = re.search(r"[Ss]eeds?(?: of this table:)? ([\d, ]+)", section)
        if seeds:
            found[section.partition("\n")[0]] = ([int(seed) for seed in seeds[1].split(", ")], section)
    return found


def test_headers_state_what_ran(corpus: Store, reproduce: Reproduce, tmp_path: Path) -> None:
    reproduce(tables=["2"], seeds=2)
    reproduce(tables=["4"], seeds=1, articles=2)
    text = (tmp_path / "docs" / "results.md").read_text(encoding="utf-8")
    records = json.loads((tmp_path / "docs" / "results.json").read_text(encoding="utf-8"))
    assert records["tables"] == {table: content(corpus, table) for table in ("2", "4")}
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
