"""The comparison ``modern``, cut down to a few rows and a tiny encoder."""

import dataclasses
import gzip
import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.homes import CopyHome
from tests.jobs.helpers import WORDS, write_articles
from tests.jobs.papers.conftest import content, rows, write_words
from tests.tiny_encoder import NEEDS_ENCODER, write_encoder
from themescope.core.errors import ConfigError
from themescope.core.models import REGISTRY as METHODS
from themescope.core.models.thematic_encoder import model as thematic
from themescope.core.papers.modern.data import CLAIMS, FULL, QUICK, VALIDATION
from themescope.core.papers.modern.tables import MODERN
from themescope.core.papers.sjh17.data import BILLS
from themescope.core.papers.spec import Accuracy, Combined, Measure, Paper, ResultTable
from themescope.core.types import Split
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.kinds import check_job
from themescope.jobs.papers import sources
from themescope.jobs.queue.foreground import resume_here, run_here

pytestmark = NEEDS_ENCODER
MOTIONS = {"Ban guns": ("gun", "crime", "law"), "Tax sugar": ("sugar", "tax", "health"), "Fly less": ("plane", "air")}
ENCODER = {"epochs": 1, "training_limit": 6, "validation_limit": 4, "threads": 1, "rank": 2}
PROFILE = dataclasses.replace(
    QUICK,
    seeds=(0, 1),
    triplet_rules={"profile": "paper-like", "triplets_per_article": 2},
    articles=3,
    budgets={
        **QUICK.budgets,
        "encoder": ENCODER,
        "set-encoder": {**QUICK.budgets["set-encoder"], "training_limit": 3, "width": 8, "heads": 2},
    },
)
ROWS = ("mean-vectors", "minilm", "minilm-centred", "static-encoder", "thematic-encoder", "ensemble-encoder")
MORE = {"overview": ("tfidf",), "clusters": ("random", "set-encoder")}


def _cut(table: ResultTable) -> ResultTable:
    rows = tuple(row for row in table.rows if row.id in (*ROWS, *MORE.get(table.id, ())))
    ids = {row.id for row in rows}
    claims = tuple(claim for claim in table.claims if {claim.first, claim.second} <= ids)
    return dataclasses.replace(table, rows=rows, claims=claims)


_KEPT = ("overview", "clusters", "triplets", CLAIMS, "costs")
CUT: Paper = dataclasses.replace(
    MODERN, tables=tuple(_cut(MODERN.table(id)) for id in _KEPT), profiles=(PROFILE, VALIDATION, FULL)
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with claims and bills, word vectors and an encoder, and without SICK and topics."""
    folder = tmp_path_factory.mktemp("data")
    words = write_words(folder, write_articles(folder, 60))
    (folder / "debater-claims-evidence").mkdir()
    claims = [f"{m}\tThe {w} matters for the {v}\tx" for m, own in MOTIONS.items() for w in own for v in own]
    table = "\n".join(["Topic\tClaim original text\tClaim corrected version", *claims])
    (folder / "debater-claims-evidence" / "claims.tsv.gz").write_bytes(gzip.compress(table.encode()))
    (folder / "summaries").mkdir()
    bills = [{"id": f"b{n}", "title": "A bill", "text": _bill(n), "summary": "None."} for n in range(4)]
    packed = lzma.compress("".join(json.dumps(bill) + "\n" for bill in bills).encode())
    (folder / "summaries" / "billsum100.jsonl.xz").write_bytes(packed)
    (folder / "encoder").mkdir()
    write_encoder(folder / "encoder", words)
    return folder


def _bill(number: int) -> str:
    """A bill with four numbered sections of six sentences, each with a word of its own."""
    return "\n\n".join(
        f"SEC. {i + 1}. {word.upper()}.\n\n" + " ".join(
            f"The {word} of the state number {number} shall be held in the year {s}." for s in range(6)
        )
        for i, word in enumerate(WORDS[:4])
    )  # fmt: skip


@pytest.fixture
def corpus(copy_home: CopyHome, home: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("themescope.jobs.papers.job.paper", lambda _: CUT)
    for module in (sources, thematic):
        monkeypatch.setattr(module, "installed_encoder", lambda feature: data / "encoder")
    monkeypatch.setattr("themescope.jobs.kinds.evaluate_sentences._LEAST_SECONDS", 1e-9)
    return copy_home(home)


@pytest.fixture
def reproduce(corpus: Store, data: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def run(**args: Any) -> dict[str, Any]:
        given = {"paper": "modern", "corpus": "C", "data": str(data), "words": str(data / "words.txt")}
        written = {"document": str(tmp_path / "r.md"), "replace": True}
        return resume_here(corpus, "reproduce", {**given, **written, **args}, quiet=True)

    return run


def test_every_model_is_measured_on_all_data_and_a_second_run_computes_nothing(
    corpus: Store, reproduce: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    first = reproduce()
    overview, clusters, triplets = (rows(corpus, id, "modern") for id in ("overview", "clusters", "triplets"))
    assert {id for id, row in overview.items() if row["missing"]} == {"static-encoder"} - set(METHODS.ids())
    assert {"ami", "sentences", "titles", CLAIMS, BILLS, "speed"} <= set(overview["minilm"]["ours"])
    assert "SICK is missing" in overview["minilm"]["data"] and "--data" in overview["minilm"]["data"]
    assert clusters["random"]["ours"]["ami"]["n"] == 3 and len(clusters["minilm"]["ours"]["ami"]["seeds"]) == 2
    assert overview["minilm"]["ours"]["ami"]["value"] == clusters["minilm"]["ours"]["ami"]["value"]
    _check_triplets(triplets)
    claims = rows(corpus, CLAIMS, "modern")["thematic-encoder"]
    assert "low" not in claims["ours"]["ami"] and "1 articles, 22 sentences" in claims["data"]
    assert overview["tfidf"]["ours"][BILLS]["value"] > 0.9  # their sections are told apart by a word
    costs = {id: row["ours"] for id, row in rows(corpus, "costs", "modern").items() if not row["missing"]}
    assert all(cost["speed"]["value"] > 0 and cost["megabytes"]["value"] > 0 for cost in costs.values())
    assert costs["ensemble-encoder"]["seconds"]["value"] >= costs["thematic-encoder"]["seconds"]["value"] > 0
    assert any("verdict" in claim for claim in content(corpus, "clusters", "modern")["claims"])
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "## Overview: All models" in text and "· –" not in text and "| – |" in text
    second = reproduce()
    assert (second["computed"], second["cached"]) == (0, True) and first["computed"] > 30


def _check_triplets(triplets: dict[str, dict[str, Any]]) -> None:
    alone, whole = triplets["minilm"]["ours"], triplets["minilm-centred"]["ours"]
    assert alone["sentences"]["value"] == alone["sentences in context"]["value"]
    assert alone["sentences"]["n"] == whole["sentences in context"]["n"] == 3
    assert "validation triplets of 3 articles" in triplets["minilm"]["data"]


def test_given_models_stand_for_seeds_and_nothing_is_trained(
    corpus: Store, reproduce: Callable[..., dict[str, Any]], data: Path, tmp_path: Path
) -> None:
    for seed in (0, 1):
        args = {"method": "thematic-encoder", "corpus": "C", "name": f"T{seed}", "seed": seed, "settings": ENCODER}
        run_here(corpus, "train", args, quiet=True)
    reproduce(tables=["clusters"], training=False, models=["thematic-encoder=T1", "thematic-encoder=T0"])
    found_rows = rows(corpus, "clusters", "modern")
    assert "model T1; " in found_rows["thematic-encoder"]["data"] and len(found_rows["thematic-encoder"]["runs"]) == 2
    assert found_rows["ensemble-encoder"]["ours"] and not found_rows["ensemble-encoder"]["missing"]
    assert "--model set-encoder=NAME" in found_rows["set-encoder"]["missing"]
    command = ["reproduce", "modern", "--corpus", "C", "--data", str(data), "--words", str(data / "words.txt")]
    command += ["--table", "clusters", "--no-training", "--model", "thematic-encoder=T1", "--seeds", "1"]
    with pytest.raises(SystemExit) as exit_:
        main([*command, "--document", str(tmp_path / "r.md"), "--replace"])
    assert exit_.value.code == 0 and "| not measured |" in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "An ensemble needs several models" in rows(corpus, "clusters", "modern")["ensemble-encoder"]["missing"]
    with corpus.reading() as r:
        assert {model.method for model in r.models.list()} >= {"thematic-encoder", "centred"}
        assert not r.models.list("set-encoder")


def test_a_sample_of_articles_is_part_of_a_larger_one(
    corpus: Store, reproduce: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    found_rows = {}
    for articles in (2, 4):
        reproduce(tables=["triplets"], articles=articles, training=False, seeds=1)
        found_rows[articles] = rows(corpus, "triplets", "modern")["mean-vectors"]
        assert found_rows[articles]["ours"]["sentences"]["n"] == articles
    with corpus.reading() as r:
        found = [run for run in r.runs.list(kind="triplet-sample") if run.config.get("articles") in found_rows]
        assert r.runs.list(kind="triplets") == []  # which pages compare
        ids = {run.config["articles"]: set(r.runs.margins(run.id, Split.VALIDATION)[0].tolist()) for run in found}
    assert ids[2] < ids[4]
    limits = "at most 4 articles of each data set; at most 40 documents of a topic task; n = 4."
    assert limits in (tmp_path / "r.md").read_text(encoding="utf-8")


def test_wrong_models_are_refused_before_anything_is_queued() -> None:
    with pytest.raises(ConfigError, match="ROW=NAME"):
        check_job("reproduce", {"paper": "modern", "models": ["thematic-encoder"]})
    with pytest.raises(Exception, match="Did you mean 'minilm'"):
        check_job("reproduce", {"paper": "modern", "models": ["minlm=x"]})


def _measures(measure: Measure) -> Iterator[Measure]:
    yield measure
    if isinstance(measure, Combined):
        for part, _ in measure.parts.values():
            yield from _measures(part)


def test_only_models_that_read_the_article_are_measured_with_it() -> None:
    measures = {row.id: row.measure for row in MODERN.table("triplets").rows}
    for id, measure in measures.items():
        assert isinstance(measure, Combined)
        part = measure.parts["sentences in context"][0]
        assert isinstance(part, Accuracy)
        reads = id.endswith(("centred", "tfidf")) or id.startswith(("set-encoder", "context-encoder", "ensemble"))
        assert part.context is reads, id
