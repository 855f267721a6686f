"""The Compare page: table of methods, two methods, one article, and exports."""

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, HOSTILE, MODEL, SET, SEVERAL, add_comparison, add_model
from tests.webapp.hands import Open, jobs_of, plain_words_of, press
from themescope.core.metrics import statistics
from themescope.core.records.stored import ScoreRecord
from themescope.db.store import Store
from themescope.webapp.features.compare import method_table
from themescope.webapp.features.compare import pairs as partition_pair
from themescope.webapp.shared import compare_queries
from themescope.webapp.shared.figures import tones

FIRST, SECOND = "net · Iclust", f"{MODEL} · Iclust"


@pytest.fixture
def compared(filled_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The filled store with a benchmark that several methods have clustered, and tests from three articles on."""
    monkeypatch.setattr(statistics, "FEWEST_ARTICLES", 3)
    add_comparison(filled_store, CORPUS, MODEL)
    return filled_store


def test_every_tab_stands_on_a_store_with_scores(compared: Store, open_page: Open) -> None:
    first = open_page("compare")
    (offered,) = [one.options for one in first.multiselect if one.label == "Clusterers" and "Ward" in one.options]
    of_tables = {"k-means on raw vectors", "Spherical k-means"}
    assert "k-means on unit vectors" in offered and not of_tables & {*offered}, "which only the tables need"
    for tab in [tab.label for tab in first.tabs]:
        at = open_page("compare", tab=tab)
        assert not at.error, tab


def _flat(at: AppTest) -> str:
    return plain_words_of(at).replace("**", "")


def test_an_article_is_read_in_two_ways(compared: Store, open_page: Open) -> None:
    left, right = f"net seed 1 · Iclust on {SEVERAL}", "Sections"
    at = open_page("compare", tab="Pair", corpus=CORPUS, article=HOSTILE, left=left, right=right)
    said = _flat(at)
    assert f"{left} and {right}: " in said
    moved = int(re.findall(r"(\d+) of 24 sentences changed cluster", said)[0])
    assert moved > 0
    assert "3 cluster pairs matched one-to-one" in said and "unmatched: 0 left, 3 right" in said
    press(at, "Collect as errors")
    with compared.reading() as r:
        collected = r.failures.of(CORPUS)
        assert collected is not None and collected.sentences == moved
    same = open_page("compare", tab="Pair", corpus=CORPUS, article="Nile", left="Sections", right="Sections")
    assert "0 of 24 sentences changed cluster" in _flat(same)


def test_matched_clusters_have_one_number_on_both_sides(compared: Store) -> None:
    with compared.reading() as r:
        sentences = r.corpora.sentences(1)
    ids = np.array([s.id for s in sentences])
    first, second = np.arange(24) // 8, (np.arange(24) // 8 + 1) % 3
    second[0], second[23] = 3, -1
    left = compare_queries.Division(ids, first, {0: "River"})
    right = compare_queries.Division(ids[::-1], second[::-1])
    found = partition_pair.match_partitions(left, right, sentences, {s.section: str(s.section) for s in sentences})
    assert found is not None
    assert found.matching.moved.tolist() == [0, 23]
    data = partition_pair.pair_data(found, (left, right), ("a", "b"), tones("light"), everything=False)
    shown = [(g["left"] and g["left"]["name"], g["right"] and g["right"]["name"]) for g in data["groups"]]
    assert shown[:2] == [("2 · River", "Cluster 2"), ("Cluster 3", "Cluster 3")]
    assert shown[2:] == [(None, "Cluster 4"), (None, "Not assigned")]
    sides = [g[side] for g in data["groups"] for side in ("left", "right") if g[side]]
    assert [s["moved"] for side in sides for s in side["sentences"]] == ["→ 4", "→ not assigned", "← 2", "← 3"]
    rows = list(csv.DictReader(io.StringIO(partition_pair.export(found, left, right, ("a", "b")))))
    assert [row["moved"] for row in rows] == ["1", *["0"] * 22, "1"]
    assert partition_pair.match_partitions(left, compare_queries.Division(ids[:0], first[:0]), sentences, {}) is None


def test_a_comparison_leaves_as_csv(compared: Store, open_page: Open) -> None:
    open_page("compare", benchmark=SEVERAL)
    with compared.reading() as r:
        benchmark = r.benchmarks.by_name(SEVERAL)
    methods = compare_queries.methods(benchmark)
    found = method_table.compared(benchmark, methods, compare_queries.means(methods, ["ami"]), "ami")
    rows = list(csv.DictReader(io.StringIO(method_table.as_csv(found))))
    assert [(row["model"], row["seeds"], row["group_ami"]) for row in rows] == [("net", "2", "a"), (MODEL, "1", "a"), (
        compare_queries.NO_VECTORS, "1", "a")]  # fmt: skip
    assert float(rows[0]["ami"]) == pytest.approx(0.66) and rows[0]["last_place_ami"] == "3"
    assert found.family is not None
    pairs = list(csv.DictReader(io.StringIO(method_table.comparisons_csv(found.family, found.names))))
    assert len(pairs) == 3 and float(pairs[0]["difference"]) == pytest.approx(0.35)


def test_intervals_are_in_the_cells_and_a_click_compares_with_the_best(compared: Store, open_page: Open) -> None:
    at = open_page("compare", benchmark=SEVERAL)
    table = at.dataframe[0].value
    assert list(table.columns) == ["Rank", "Model", "Clusterer", "MI", "AMI", "RI", "ARI", "V", "Group"]
    assert list(table["AMI"]) == [".660 [.650, .670]", ".310 [.000, 1.000]", ".010 [.000, 1.000]"]
    assert table["Model"][0] == "net (2 seeds)"
    assert "rank and group by" in plain_words_of(at) and "3 comparisons corrected by Holm" in plain_words_of(at)
    at = open_page("compare", benchmark=SEVERAL, tab="Pair", first=FIRST, second=SECOND)
    assert "net · Iclust is not significantly different from mean *vectors* · Iclust: AMI +.350" in _flat(at)
    articles = at.dataframe[0].value
    assert list(articles["Difference"].round(2)) == [0.35] * 3
    assert set(articles["Article"]) == {"Danube", "Nile", HOSTILE}


def test_a_method_that_was_measured_again_has_another_digest(compared: Store) -> None:
    with compared.reading() as r:
        found = compare_queries.methods(r.benchmarks.by_name(SEVERAL))
    seeds = next(method for method in found if len(method.runs) == 2)
    again = replace(seeds, runs=(seeds.runs[0], replace(seeds.runs[1], digest="again")))
    assert seeds.digest != again.digest, "their scores and the table of two methods are kept under it"


def test_a_model_that_is_brought_along_is_one_click(compared: Store, open_page: Open) -> None:
    with compared.writing() as w:
        add_model(w, "new", "tfidf")
    at = open_page("compare", benchmark=SEVERAL, run="new")
    press(at, "Run new")
    assert {args["model"] for args in jobs_of(compared, "cluster")} >= {"new"}
    press(open_page("compare", tab="Triplet accuracy", triplets=SET, run="new"), "Evaluate new")
    assert {args["model"] for args in jobs_of(compared, "evaluate-triplets")} == {"new"}


def test_triplet_accuracy_is_tested_over_articles_and_over_triplets(compared: Store, open_page: Open) -> None:
    with compared.writing() as w:
        chosen = w.triplets.by_name(SET)
        (old,) = w.runs.list(kind="triplets")
        ids, margins = w.runs.margins(old.id, "test")
        for name, sign in (("net seed 1", 1.0), ("net seed 2", -1.0)):
            per_article = [ScoreRecord(0, i, "triplet accuracy", 0.5 + sign * 0.1 * i, n=4 * i) for i in (1, 2, 3)]
            mean = ScoreRecord(0, None, "triplet accuracy", 0.5 + sign * 0.2, 0.1, 0.9, 3)
            about = {"model_id": w.models.by_name(name).id, "triplet_set_id": chosen.id, "config": {"split": "test"}}
            found = {"test": (ids, sign * np.abs(margins) - 0.01)}
            w.runs.add(kind="triplets", digest=name, scores=[mean, *per_article], margins=found, **about)
    at = open_page("compare", tab="Triplet accuracy", triplets=SET)
    table = at.dataframe[0].value
    assert list(table["Model"]) == [MODEL, "net seed 1", "net seed 2"]
    assert list(table["Group"]) == ["", "a", "a"], "three articles cannot tell them apart"
    assert list(table["Rank"]) == ["–", "1–2", "1–2"] and table["Triplet accuracy"][0] == ".750 [.600, .900]"
    at.session_state["compare_tests"] = True
    assert list(at.run().dataframe[1].value["Difference"]) == [".467 [.200, .600]"]


def test_a_view_is_saved_opened_and_forgotten(compared: Store, open_page: Open) -> None:
    at = open_page("compare", benchmark=SEVERAL, tab="Pair")
    at.text_input(key="view-name").set_value("who *wins*").run()
    at.button(key="save-view").click().run()
    with compared.reading() as r:
        (view,) = r.views.list("compare")
    assert (view.name, view.person) == ("who *wins*", "")
    assert "compare_tab=Pair" in view.query and "compare_second=mean" in view.query
    at.text_input(key="view-name").set_value("who *wins*").run()
    at.button(key="save-view").click().run()
    assert "who \\*wins\\*" in at.toast[0].value
    at = open_page("compare")
    at.button(key=f"open-view-{view.id}").click().run()
    assert at.query_params["compare_tab"] in ("Pair", ["Pair"])
    at.button(key=f"delete-view-{view.id}").click().run()
    with compared.reading() as r:
        assert r.views.list() == []
