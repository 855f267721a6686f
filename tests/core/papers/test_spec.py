import re
from dataclasses import replace
from pathlib import Path

import pytest

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.config import config_from_dict
from themescope.core.errors import ConfigError, DuplicateNameError, UnknownNameError
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.models import REGISTRY as METHODS
from themescope.core.papers import PAPERS, paper
from themescope.core.papers.spec import Accuracy, Claim, ClusteringMeasures, Row
from themescope.core.tasks.scb import ScbRules
from themescope.core.triplets.rules import TripletRules

DECLARED = [paper(id) for id in PAPERS]


@pytest.mark.parametrize("declared", DECLARED, ids=lambda p: p.id)
def test_every_row_says_in_a_sentence_how_it_deviates(declared) -> None:
    assert declared.citation.endswith(".")
    for table in declared.tables:
        assert table.about.endswith(".") and table.source and table.rows
        for row in table.rows:
            assert row.deviation.endswith(".") and row.title, f"{table.id}: {row.id}"


@pytest.mark.parametrize("declared", DECLARED, ids=lambda p: p.id)
def test_profiles_have_three_seeds_or_more_and_budgets_that_exist(declared) -> None:
    budgets = {model.budget for model in declared.models if model.budget}
    for profile in declared.profiles:
        assert len(set(profile.seeds)) >= 3 and profile.about.endswith(".")
        assert set(profile.budgets) <= budgets
    assert {"quick", "full"} <= {profile.id for profile in declared.profiles}


def test_the_tables_of_ed18_are_complete_with_the_numbers_of_the_paper() -> None:
    tables = {table.id: table for table in paper("ed18").tables}
    published = {id: sum(len(row.published) for row in table.rows) for id, table in tables.items()}
    of_paper = {"3": 4, "4": 48, "5": 15, "6": 6}
    assert published == {"triplet-sets": 7, "benchmark": 9, **of_paper, "ablations": 0, "clusterers": 0}
    assert all(f"Table {id}" in tables[id].source for id in of_paper)
    tables = {table.id: table for table in paper("ed18").tables}
    assert tables["3"].row("triplets-sen").published == {"accuracy": 0.74}
    best = tables["4"].row("iclust:triplets-sen-titles").published
    assert best == {"mi": 0.945, "ami": 0.303, "ri": 0.803, "ari": 0.230}
    assert tables["5"].row("triplets-sen-titles").published == {"pearson": 0.818, "spearman": 0.724, "mse": 0.339}
    assert tables["benchmark"].row("scb").published["sentences"] == 46_117


def test_no_section_is_cited_that_the_paper_does_not_have() -> None:
    """Section 4 is the network and its loss, 5.1 the baselines; there is no section 4.1, and tables end with 6."""
    root = Path(__file__).parents[3]
    cited = re.compile(r"Ein Dor et al\.? \(?2018[^.\n]{0,90}?sections? ([\d.]+\d|\d)(?: and ([\d.]+\d|\d))?")
    known = {"3", "3.1", "3.2", "3.3", "4", "5", "5.1", "5.2", "6"}
    found = [
        (path.name, section)
        for folder in ("core", "jobs", "webapp", "docs")
        for path in (root / folder).rglob("*")
        if path.suffix in {".py", ".md"}
        for match in cited.findall(path.read_text(encoding="utf-8"))
        for section in filter(None, match)
    ]
    assert len(found) > 15 and {section for _, section in found} <= known
    networks = [METHODS.get(id).source for id in METHODS.ids() if id.startswith("triplets-sen")]
    assert all("section 3.2" not in source for source in networks)


def test_mistakes_in_a_declaration_are_told_when_it_is_built() -> None:
    declared = paper("ed18")
    table = declared.table("3")
    row = table.rows[0]
    with pytest.raises(DuplicateNameError, match="mean-vectors"):
        replace(declared, models=(*declared.models, declared.models[0]))
    for wrong in (Row("x", "X", Accuracy("triplets-seen", "sentences"), "."), replace(row, published={"ami": 1.0})):
        with pytest.raises((UnknownNameError, ConfigError), match=r"triplets-sen|without a column|not a column"):
            replace(declared, tables=(replace(table, rows=(wrong,), claims=()),))
    with pytest.raises(UnknownNameError, match="nobody"):
        replace(declared, tables=(replace(table, claims=(Claim("nobody", row.id, "accuracy"),)),))
    with pytest.raises(UnknownNameError, match="Did you mean 'ed18'"):
        paper("ed81")


@pytest.mark.parametrize("profile", paper("ed18").profiles, ids=lambda p: p.id)
def test_every_method_and_clusterer_exists_and_takes_its_settings(profile) -> None:
    declared = paper("ed18")
    for model in declared.models:
        words = {"word_vectors": "glove-6b-50d"} if model.words else {}
        METHODS.configure(model.method, {**profile.budgets.get(model.budget, {}), **model.settings, **words})
        if model.pretrained:
            continue
        assert ("needs-triplets" in METHODS.get(model.method).tags) == bool(model.triplets)
        assert ("needs-models" in METHODS.get(model.method).tags) == bool(model.parts)
    for data in declared.triplets:
        config_from_dict(TripletRules, {**profile.triplet_rules, **data.rules})
    for data in declared.benchmarks:
        config_from_dict(ScbRules, {**profile.benchmark_rules, **data.rules})
    for table in declared.tables:
        for row in table.rows:
            if isinstance(row.measure, ClusteringMeasures):
                CLUSTERERS.configure(row.measure.clusterer, row.measure.settings)
    for id in ("4", "clusterers"):
        assert {column.metric for column in paper("ed18").table(id).columns} <= set(METRICS.ids())


def test_the_profile_full_trains_as_published() -> None:
    """Section 4: L1 in the printed loss, 300 units, attention of 200, Adam at 0.001; all eligible triplets."""
    declared = paper("ed18")
    full = declared.profile("full")
    assert full.triplet_rules == {"profile": "all"}
    for id in ("triplets-sen", "triplets-titles", "triplets-sen-rand-art", "triplets-sen-same-art"):
        model = declared.model(id)
        config = METHODS.configure(model.method, {**full.budgets[model.budget], **model.settings})
        assert (config.loss, config.distance, config.temperature) == ("paper", "l1", 1.0)
        assert (config.hidden, config.attention, config.learning_rate) == (300, 200, 1e-3)
        # After three passes with a falling rate, validation accuracy stands still (learning-curve.json).
        assert config.epochs >= 3 and not config.triplets_per_epoch and not config.training_limit
        assert model.seeds == (3 if id == "triplets-sen" else 1)
