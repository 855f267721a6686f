"""Triplets: accuracy by margin and section pair, and the words that a network looks at."""

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.core.models.triplet_network.themes import theme_triplets
from tests.webapp.choices import choice
from tests.webapp.filled import MODEL, SET
from tests.webapp.hands import jobs_of, words_of
from themescope.core.models import REGISTRY
from themescope.core.models.artifact import save_model
from themescope.core.models.triplet_network.word_attention import triplet_attention
from themescope.core.protocols import SILENT
from themescope.core.records.stored import RunRecord
from themescope.core.types import Corpus, Split
from themescope.db.records import TripletSetRecord
from themescope.db.store import Store
from themescope.webapp.features.triplets import browser
from themescope.webapp.features.triplets.browser import roles
from themescope.webapp.shared.figures import tones

Open = Callable[..., AppTest]
NET, JOINED = "small *net*", "joined nets"
SMALL = {"vocabulary_limit": 50, "hidden": 6, "attention": 4, "threads": 1, "device": "cpu", "epochs": 1}


def evaluated(store: Store) -> tuple[TripletSetRecord, RunRecord]:
    with store.reading() as r:
        run, *_ = r.runs.list(kind="triplets")
        return r.triplets.by_name(SET), run


def add_evaluation(store: Store, name: str, margins: list[float], split: Split = Split.TEST) -> RunRecord:
    """Another model with margins of its own."""
    chosen, _ = evaluated(store)
    with store.writing() as w:
        model = w.models.add(
            name=name, method="mean-vectors", config={}, seed=0, digest=name, artifact="a2", metrics={}
        )
        rows = w.triplets.rows(chosen.id, split)
        return w.runs.add(
            kind="triplets", digest=f"e {name}", model_id=model.id, triplet_set_id=chosen.id,
            config={"split": split.value}, margins={split: (rows.ids, np.array(margins, np.float32))},
        )  # fmt: skip


def small_nets() -> list[object]:
    """A small network on sentences, and two of them joined."""
    built = []
    for seed in (1, 2):
        net = REGISTRY.build("triplets-sen", SMALL, seed=seed)
        triplets = {Split.TRAIN: theme_triplets(3, seed), Split.VALIDATION: theme_triplets(1, seed=9)}
        net.fit(Corpus(triplets=triplets), SILENT)
        built.append(net)
    joined = REGISTRY.build("triplets-sen-titles", {}, seed=0)
    joined.fit(Corpus(models=built), SILENT)
    return [built[0], joined]


@pytest.fixture(scope="module")
def nets() -> list[object]:
    """Made once."""
    return small_nets()


def add_net(store: Store, net: object, name: str, method: str) -> None:
    """Keep a network with its files."""
    artifact = store.artifacts.put(lambda folder: save_model(net, method, folder, {}))  # type: ignore[arg-type]
    with store.writing() as w:
        w.models.add(name=name, method=method, config={}, seed=0, digest=name, artifact=artifact, metrics={})


def add_nets(store: Store, nets: list[object]) -> None:
    """Both of them."""
    for net, name, method in zip(nets, (NET, JOINED), ("triplets-sen", "triplets-sen-titles"), strict=True):
        add_net(store, net, name, method)


def test_two_models_are_compared_on_the_triplets_of_both(filled_store: Store, open_page: Open) -> None:
    add_evaluation(filled_store, "second", [1.0, 1.0, 1.0, -1.0])
    add_evaluation(filled_store, "elsewhere", [1.0, 1.0, 1.0, -1.0], Split.TRAIN)
    at = open_page("triplets", view="Accuracy", set=SET, model=MODEL, second_model="second")
    assert not at.exception and not at.error
    assert "elsewhere" not in choice(at, "triplets_second_model").options
    table = next(d.value for d in at.dataframe if "second correct" in d.value.columns)
    assert table["second correct"].tolist() == [1, 1]
    assert table["second wrong"].tolist() == [1, 0]
    assert "difference −.125" in words_of(at)


def test_accuracy_comes_first_and_leads_to_the_wrong_ones(filled_store: Store, open_page: Open) -> None:
    at = open_page("triplets", set=SET)
    assert not at.exception and not at.error
    assert "Accuracy **.750 [.600, .900]** on 4 test triplets: 2 right, 1 wrong, 1 tied" in words_of(at)
    _, run = evaluated(filled_store)
    with filled_store.reading() as r:
        ids, margins = r.runs.margins(run.id, Split.TEST)
        (worst,) = r.triplets.cards(ids[[margins.argmin()]])
    assert {worst.pivot, worst.positive, worst.negative} <= {text.value for text in at.text}
    (primary,) = [b for b in at.button if b.label == "Open 1 wrong triplet"]
    primary.click().run()
    assert not at.exception and not at.error
    assert "Triplet 1 of 1" in words_of(at) and "wrong, lowest margin first" in words_of(at)
    next(b for b in at.button if b.label == "Reset filter").click().run()
    assert "Triplet 1 of 8" in words_of(at)


def test_a_set_without_evaluations_offers_one(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.models.delete(w.models.by_name(MODEL).id)
    at = open_page("triplets", set=SET)
    assert "A triplet of this set" in words_of(at) and len(at.text) == 3
    next(b for b in at.button if b.label.startswith("Evaluate ")).click().run()
    assert [(args["triplets"], args["split"]) for args in jobs_of(filled_store, "evaluate-triplets")] == [(SET, "test")]


@pytest.mark.parametrize(("right", "wrong"), [(MODEL, "second"), ("second", MODEL)])
def test_what_only_one_model_gets_right_has_an_address_with_both(
    filled_store: Store, open_page: Open, right: str, wrong: str
) -> None:
    runs = {MODEL: evaluated(filled_store)[1], "second": add_evaluation(filled_store, "second", [1.0, 1.0, 1.0, -1.0])}
    at = open_page("triplets", set=SET, model=MODEL, second_model="second")
    at.button(key=f"triplets_read_only_{runs[right].id}").click().run()
    at.run()  # what the page remembers, it does not write into the address again
    assert not at.exception and "Triplet 1 of 1" in words_of(at)
    address = {name: value if isinstance(value, str) else value[0] for name, value in at.query_params.items()}
    assert (address["triplets_right"], address["triplets_wrong"]) == (right, wrong)
    elsewhere = open_page("triplets", **address)
    assert "Triplet 1 of 1" in words_of(elsewhere)
    assert words_of(elsewhere) == words_of(at)


def test_pairs_of_sections_are_counted_and_read(filled_store: Store, open_page: Open) -> None:
    at = open_page("triplets", set=SET, by="Section pair")
    assert not at.exception and not at.error
    table = at.dataframe[0].value
    assert table["Triplets"].tolist() == [2, 2]
    pairs = {(a, b): accuracy for a, b, accuracy in zip(*(table[c] for c in table.columns[[0, 1, 4]]), strict=True)}
    assert pairs == {("(no heading)", "History"): ".500", ("Course", "History"): ".750"}
    at = open_page("triplets", set=SET, by="Article")
    assert at.dataframe[0].value["Article"].tolist() == ["Danube"]
    for pair in (["Course", "History"], ["", "History"]):
        at = open_page("triplets", set=SET, split="test", pair=pair)
        assert "Triplet 1 of 2" in words_of(at), "a link to a filter opens what it selects"
    assert "**(no heading)** and **History**" in words_of(at).replace("\\", "")


def test_words_are_read_by_a_network(filled_store: Store, nets: list[object], open_page: Open) -> None:
    add_nets(filled_store, nets)
    at = open_page("triplets", set=SET, view="Browse")
    at.session_state[browser.ATTENTION], at.session_state["triplets_attention_model"] = True, NET
    at.run()
    assert not at.exception and not at.error
    said = words_of(at)
    assert "Attention alone is not an explanation" in said
    assert "Rank correlation of attention with the size of the change" in said
    table = next(d.value for d in at.dataframe if "Word" in d.value.columns)
    assert table.groupby("Sentence")["Attention"].sum().tolist() == pytest.approx([1, 1, 1], abs=1e-2)
    with filled_store.reading() as r:
        card = r.triplets.cards(r.triplets.ids(r.triplets.by_name(SET).id))[0]
    found = triplet_attention(nets[0], (card.pivot, card.positive, card.negative))  # type: ignore[arg-type]
    assert table["Change"].tolist() == pytest.approx(np.concatenate([s.changes for s in found.sentences]), abs=1e-3)


def test_what_the_browser_draws_is_within_its_scales(nets: list[object]) -> None:
    texts = ("<b>The city's</b> river.", "theme1word2 in the north", "")
    found = triplet_attention(nets[1], texts)  # type: ignore[arg-type]
    data = browser.attention_data(found, roles("titles"), tones("dark"))
    names = [n["name"] for n in data["networks"]]
    assert names == [f"Attention of the network on {h}, darkest: 3.0 × uniform" for h in found.networks]
    for network in data["networks"]:
        assert [s["role"] for s in network["sentences"]] == list(roles("titles"))
        parts = [part for s in network["sentences"] for part in s["words"]]
        assert all(0 <= part["shade"] <= 1 for part in parts)
        assert max(abs(part["change"]) for part in parts) == pytest.approx(1)
        assert parts[0]["word"] == "<"
