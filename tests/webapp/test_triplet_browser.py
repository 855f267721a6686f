"""Triplets: read one by one, by margins of models, and by verdicts."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import MODEL, SET, add_model
from tests.webapp.hands import Open, jobs_of, press, words_of
from themescope.core.metrics.statistics import paired_test
from themescope.core.metrics.triplets import correctness
from themescope.core.records.stored import JobStatus, ModelRecord, RunRecord
from themescope.core.types import Split, TripletRows
from themescope.db.records import TripletSetRecord, Verdict
from themescope.db.store import Store
from themescope.jobs.kinds import check_job
from themescope.jobs.queue.runner import run_here
from themescope.webapp.features.triplets import browser, queries
from themescope.webapp.features.triplets import sets as reviews
from themescope.webapp.features.triplets.queries import ORDERS, EvaluatedModel, Export, TripletFilter
from themescope.webapp.shared import components, triplet_queries

TEST = Split.TEST


def choice(at: AppTest, param: str) -> Any:
    """The select box of a URL key; its own key has a number, which a link raises."""
    (found,) = [box for box in at.selectbox if str(box.key).startswith(f"{param}_choice_")]
    return found


def judged(store: Store) -> tuple[TripletSetRecord, list[EvaluatedModel]]:
    with store.reading() as r:
        chosen = r.triplets.by_name(SET)
    return chosen, queries.evaluated_models(triplet_queries.evaluations(chosen))


def verdicts(store: Store) -> list[tuple[str, Verdict | None, str]]:
    with store.reading() as r:
        return [(x.person, x.verdict, x.note) for x in r.reviews.list(r.triplets.by_name(SET).id)]


def test_every_part_of_the_filter_is_what_the_cards_say_in_the_order_of_margins(filled_store: Store) -> None:
    chosen, judges = judged(filled_store)
    by_margin = [queries.ids(chosen, TripletFilter(order=order, order_model=MODEL), judges) for order in ORDERS]
    sorted_by = [queries.margins_at(judges[0], found).tolist() for found in by_margin]
    assert sorted_by == [[-0.25, 0, 0.5, 1], [1, 0.5, 0, -0.25], [0, -0.25, 0.5, 1]]
    evaluate(filled_store, "second", [-1.0, 1.0, 1.0, -1.0])
    chosen, judges = judged(filled_store)
    every = queries.cards(chosen, triplet_queries.ids(chosen, None))
    margins = {j.name: dict(zip([c.id for c in every], queries.margins_at(j, np.array([c.id for c in every])),
                                strict=True)) for j in judges}  # fmt: skip
    first, second = margins[MODEL], margins["second"]
    asked = {
        TripletFilter(): lambda c: True,
        TripletFilter(split=TEST): lambda c: c.split is TEST,
        TripletFilter(words="PARAGRAPH 1 sentence 1"): lambda c: (
            "paragraph 1 sentence 1" in c.pivot + c.positive + c.negative
        ),
        TripletFilter(article="anub"): lambda c: "anub" in c.article,
        TripletFilter(article="Nile"): lambda c: False,
        TripletFilter(pair=("history", "COURSE")): lambda c: (
            {c.pivot_section, c.negative_section} == {"Course", "History"}
        ),
        TripletFilter(right=(MODEL, "second")): lambda c: first[c.id] > 0 and second[c.id] > 0,
        TripletFilter(wrong=(MODEL,)): lambda c: first[c.id] < 0,
        TripletFilter(right=(MODEL,), wrong=("second",)): lambda c: first[c.id] > 0 > second[c.id],
    }  # fmt: skip
    for wanted, holds in asked.items():
        found = queries.ids(chosen, wanted, judges).tolist()
        assert found == [c.id for c in every if holds(c)], wanted


def test_a_verdict_is_stored_and_the_next_triplet_comes(filled_store: Store, open_page: Open) -> None:
    at = open_page("triplets", set=SET, split="test")
    assert not any(b.proto.shortcut for b in at.button), "the keys have a queue of their own"
    assert "**0 of 4** in this filter reviewed" in words_of(at)
    at.text_input(key="person").input("Ada").run()
    press(press(at, "Bad"), "Good")
    assert "Triplet 3 of 4" in words_of(at) and "**2 of 4**" in words_of(at)
    assert verdicts(filled_store) == [("Ada", Verdict.BAD, ""), ("Ada", Verdict.GOOD, "")]
    press(press(at, "Previous"), "Previous")
    assert "Ada · bad · just now" in words_of(at)
    press(at, "Undo")  # the good one, which is looked at again
    assert "Triplet 2 of 4" in words_of(at) and verdicts(filled_store) == [("Ada", Verdict.BAD, "")]
    assert "**1 of 4** in this filter reviewed" in words_of(open_page("triplets", set=SET, split="test"))


def test_a_verdict_that_cannot_be_stored_is_told(filled_store: Store, open_page: Open) -> None:
    at = open_page("triplets", set=SET, split="test")
    with filled_store.writing() as w:
        w.triplets.connection.execute(sa.text("DELETE FROM triplet"))
    press(at, "Bad")
    assert at.toast and verdicts(filled_store) == []


def test_reviews_narrow_the_view(filled_store: Store, open_page: Open) -> None:
    chosen, _ = judged(filled_store)
    with filled_store.writing() as w:
        ids = [int(i) for i in w.triplets.ids(chosen.id, TEST)]
        w.reviews.add(chosen.id, ids[0], "Ada", Verdict.BAD)
        w.reviews.add(chosen.id, ids[1], "Bob", Verdict.GOOD)
    reviews, found = queries.reviews(chosen), np.array(ids)
    expected = {"any": ids, "reviewed": ids[:2], "not reviewed by me": ids, "bad": ids[:1], "ambiguous": []}
    assert {one: queries.with_reviews(found, reviews, one).tolist() for one in expected} == expected
    at = open_page("triplets", set=SET, split="test", review="not reviewed by me", person="Ada")
    assert "Triplet 1 of 3" in words_of(at) and "not reviewed by me" in words_of(at)
    press(press(press(at, "Good"), "Good"), "Good")
    assert "No triplet left" in words_of(at)
    at = open_page("triplets", set=SET, split="test", review="good", triplet=str(ids[1]))
    assert "Triplet " in words_of(at) and "the test split · good" in words_of(at)


def test_what_is_in_view_leaves_as_a_file(filled_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, judges = judged(filled_store)
    with filled_store.writing() as w:
        ids = [int(i) for i in w.triplets.ids(chosen.id)]
        w.reviews.add(chosen.id, ids[-1], "=Ada", Verdict.BAD, "why")
        w.reviews.add(chosen.id, ids[-1], "", Verdict.GOOD)
    export = Export(chosen, judges, None, np.array(ids)[::-1])
    text, lines = export.csv(), export.jsonl()
    monkeypatch.setattr(queries, "COMPRESSED_FROM", 3)
    assert (gzip.decompress(export.csv()), gzip.decompress(export.jsonl())) == (text, lines)
    rows = list(csv.DictReader(io.StringIO(text.decode("utf-8"))))
    objects = [json.loads(line) for line in lines.decode("utf-8").splitlines()]
    assert [row["Split"] for row in rows] == [o["Split"] for o in objects] == ["test"] * 4 + ["train"] * 4
    assert [row[f"margin of {MODEL}"] for row in rows] == ["1.0", "0.0", "-0.25", "0.5", "", "", "", ""]
    assert [o[f"{MODEL} is"] for o in objects] == ["correct", "tied", "wrong", "correct", None, None, None, None]
    cards = queries.cards(chosen, np.array(ids)[::-1])
    for row, o, card in zip(rows, objects, cards, strict=True):
        said = card.pivot, card.positive, card.negative, card.article, card.pivot_section, card.negative_section
        assert tuple(row.values())[:6] == tuple(o.values())[:6] == said
    assert rows[0]["Verdicts"] == "'=Ada: bad (why); me: good" and rows[1]["Verdicts"] == ""
    assert [(v["person"], v["verdict"], v["note"]) for v in objects[0]["Verdicts"]] == [
        ("=Ada", "bad", "why"), ("", "good", "")
    ]  # fmt: skip


def test_a_step_asks_the_store_few_questions(filled_store: Store, open_page: Open) -> None:
    """The next triplet costs the same number of statements in a set of any size, and none reads through the set."""
    chosen, _ = judged(filled_store)
    with filled_store.writing() as w:
        some = w.triplets.rows(chosen.id, TEST)
        many = TripletRows(*(np.resize(getattr(some, name), 3_000) for name in TripletRows.__slots__))
        w.triplets.add(chosen.id, TEST, many)
    at = open_page("triplets", set=SET, split="test")
    assert "Triplet 1 of 3,004" in words_of(at)
    said: list[str] = []
    engine = queries.queries.store()._connections.engine()
    sa.event.listen(engine, "before_cursor_execute", lambda *a: said.append(a[2]))
    press(at, "Next")
    assert "Triplet 2 of 3,004" in words_of(at)
    asked = [s for s in said if s.startswith("SELECT") and "task.blind" not in s]  # one for each transaction
    assert len(asked) <= 16
    assert not [s for s in asked if "FROM triplet " in s and "triplet.id IN" not in s]


def test_an_address_from_before_the_last_key_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit sends the address of the browser with every message, also one that the last key has changed since."""
    address = {"triplets_triplet": "7"}
    monkeypatch.setattr(components.st, "query_params", address)
    state, visited = components.Acknowledged(), list[str]()

    def forward() -> None:
        visited.append(address["triplets_triplet"])
        address["triplets_triplet"] = str(int(address["triplets_triplet"]) + 1)

    def send(number: int, seen: int) -> None:
        message = {"session": state.session, "actions": [{"number": number, "kind": "next"}], "seen": seen}
        components.dispatch_actions(state, "triplets_triplet", {"next": forward}, message)

    send(1, 0)
    address["triplets_triplet"] = "7"  # what the browser still had
    send(2, 0)
    address["triplets_triplet"] = "3"  # a click on a row, after the browser had seen the second key
    send(3, 2)
    assert visited == ["7", "8", "3"]


def test_every_key_is_handled_once_and_in_order() -> None:
    state, handled = components.Acknowledged(), list[str]()
    handlers = {kind: lambda kind=kind: handled.append(kind) for kind in browser.HANDLERS}
    assert set(browser.KEYS.values()) == set(handlers)

    def send(kinds: list[object], first: int, session: str = state.session) -> None:
        sent = [{"number": number, "kind": kind} for number, kind in enumerate(kinds, first)]
        components.dispatch_actions(state, "triplets_triplet", handlers, {"session": session, "actions": sent[::-1]})

    send(["good", "bad", "good", "undo", "ambiguous"], 1)
    assert handled == ["good", "bad", "good", "undo", "ambiguous"] and state.number == 5
    send(["ambiguous", "next"], 5)  # sent again, because the answer was late
    send(["good"], 9, session="another")
    send(["unknown", 1], 7)
    for wrong in (None, {}, {"session": state.session, "actions": [{"number": True}, "x"]}):
        components.dispatch_actions(state, "triplets_triplet", handlers, wrong)
    assert handled[5:] == ["next"]


def evaluate(store: Store, name: str, margins: list[float], split: Split = Split.TEST) -> RunRecord:
    """Margins of a model, which is new unless there is one of the name."""
    with store.writing() as w:
        known = {model.name: model for model in w.models.list()}
        model, chosen = known.get(name) or add_model(w, name), w.triplets.by_name(SET)
        found = {split: (w.triplets.ids(chosen.id, split), np.array(margins, np.float32))}
        about = {"model_id": model.id, "triplet_set_id": chosen.id, "config": {"split": split.value}}
        return w.runs.add(kind="triplets", digest=f"of {name}", margins=found, **about)


def test_two_models_are_compared_on_the_triplets_of_both(filled_store: Store, open_page: Open) -> None:
    evaluate(filled_store, "elsewhere", [1.0, 1.0, 1.0, -1.0], Split.TRAIN)
    second = evaluate(filled_store, "second", [1.0, 1.0, 1.0, -1.0])
    with filled_store.reading() as r:
        first, *_ = r.runs.list(kind="triplets")
    for run, right, wrong in ((first, MODEL, "second"), (second, "second", MODEL)):
        at = open_page("triplets", view="Accuracy", set=SET, model=MODEL, second_model="second")
        assert not at.error
        assert "elsewhere" not in choice(at, "triplets_second_model").options
        table = next(d.value for d in at.dataframe if "second correct" in d.value.columns)
        assert [table[f"second {kind}"].tolist() for kind in ("correct", "wrong")] == [[1, 1], [1, 0]]
        assert "difference −.125" in words_of(at)
        at.button(key=f"triplets_read_only_{run.id}").click().run()
        at.run()  # what the page remembers, it does not write into the address again
        assert "Triplet 1 of 1" in words_of(at)
        address = {name: value if isinstance(value, str) else value[0] for name, value in at.query_params.items()}
        assert (address["triplets_right"], address["triplets_wrong"]) == (right, wrong)
        elsewhere = open_page("triplets", **address)
        assert "Triplet 1 of 1" in words_of(elsewhere) and words_of(elsewhere) == words_of(at)


def test_accuracy_comes_first_and_leads_to_the_wrong_ones(filled_store: Store, open_page: Open) -> None:
    at = open_page("triplets", set=SET)
    assert not at.error
    assert "Accuracy **.750 [.600, .900]** on 4 test triplets: 2 right, 1 wrong, 1 tied" in words_of(at)
    with filled_store.reading() as r:
        (run,) = r.runs.list(kind="triplets")
        ids, margins = r.runs.margins(run.id, Split.TEST)
        (worst,) = r.triplets.cards(ids[[margins.argmin()]])
    assert {worst.pivot, worst.positive, worst.negative} <= {text.value for text in at.text}
    (primary,) = [b for b in at.button if b.label == "Open 1 wrong triplet"]
    primary.click().run()
    assert not at.error
    assert "Triplet 1 of 1" in words_of(at) and "wrong, lowest margin first" in words_of(at)
    press(at, "Reset filter")
    assert "Triplet 1 of 8" in words_of(at)


def test_a_set_without_evaluations_offers_one(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.models.delete(w.models.by_name(MODEL).id)
    at = open_page("triplets", set=SET)
    assert "A triplet of this set" in words_of(at) and len(at.text) == 3
    next(b for b in at.button if b.label.startswith("Evaluate ")).click().run()
    assert [(args["triplets"], args["split"]) for args in jobs_of(filled_store, "evaluate-triplets")] == [(SET, "test")]


def test_pairs_of_sections_are_counted_and_read(filled_store: Store, open_page: Open) -> None:
    at = open_page("triplets", set=SET, by="Section pair")
    assert not at.error
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


def review(store: Store) -> TripletSetRecord:
    """Two training triplets are bad for Ada, one is ambiguous for Bob; so is a bad test triplet."""
    with store.writing() as w:
        chosen = w.triplets.by_name(SET)
        train, test = (w.triplets.ids(chosen.id, split).tolist() for split in (Split.TRAIN, Split.TEST))
        said = [(train[0], "Ada", Verdict.BAD), (train[1], "Ada", Verdict.BAD), (train[2], "Bob", Verdict.AMBIGUOUS),
                (test[0], "Bob", Verdict.BAD)]  # fmt: skip
        for triplet, person, verdict in said:
            w.reviews.add(chosen.id, triplet, person, verdict)
    return chosen


def trained(store: Store, name: str, on: TripletSetRecord, **config: object) -> ModelRecord:
    about = {"config": config, "seed": 3, "triplet_set_id": on.id, "corpus_id": on.corpus_id}
    with store.writing() as w:
        return add_model(w, name, "triplets-sen", **about)


def test_a_set_without_bad_triplets_is_queued_with_a_training(filled_store: Store, open_page: Open) -> None:
    chosen = review(filled_store)
    net = trained(filled_store, "net", chosen, epochs=2)
    at = open_page("triplets", view="Sets", set=SET)
    assert "Excludes **2** train and **0** validation triplets. The test split is kept" in words_of(at)
    next(s for s in at.selectbox if s.label == "Retrain").select("net")
    press(at, "Build cleaned set")
    assert not at.error
    (clean,) = jobs_of(filled_store, "clean-triplets")
    (train,) = jobs_of(filled_store, "train")
    asked = sorted((str(a["model"]), a["triplets"], a["split"]) for a in jobs_of(filled_store, "evaluate-triplets"))
    assert (clean["triplets"], clean["people"], clean["splits"]) == (SET, ["Ada", "Bob"], ["train", "validation"])
    assert (train["triplets"], train["method"], train["seed"]) == (clean["name"], net.method, net.seed)
    assert train["settings"] == {"epochs": 2}
    assert asked == [("net", SET, "test"), ("net cleaned", SET, "test")]
    check_job("clean-triplets", clean)
    check_job("train", train)
    with filled_store.reading() as r:
        by_kind = {j.kind: j for j in r.jobs.list(status=JobStatus.QUEUED)}
    assert by_kind["train"].after == by_kind["clean-triplets"].id
    assert by_kind["evaluate-triplets"].after == by_kind["train"].id


def test_what_leaving_out_changed_is_shown_with_its_interval(filled_store: Store, open_page: Open) -> None:
    chosen = review(filled_store)
    run_here(filled_store, "clean-triplets", {"triplets": SET, "name": "clean"}, quiet=True)
    with filled_store.reading() as r:
        clean = r.triplets.by_name("clean")
    at = open_page("triplets", view="Sets", set=SET)
    assert "2 train, 0 validation, 0 test excluded" in words_of(at) and "No model is trained on both" in words_of(at)
    trained(filled_store, "net", chosen), trained(filled_store, "net again", clean)
    trained(filled_store, "another", clean, epochs=9)  # other settings: no twin
    at = open_page("triplets", view="Sets", set=SET)
    assert "not yet compared with net" in words_of(at)
    margins = [1.0, -1.0, -1.0, 1.0], [1.0, 1.0, -1.0, 1.0]
    for name, listed in zip(("net", "net again"), margins, strict=True):
        evaluate(filled_store, name, listed)
    at = open_page("triplets", view="Sets", set=SET)
    assert not at.error
    table = next(d.value for d in at.dataframe if "Model" in d.value.columns)
    assert table["Triplet accuracy"].tolist()[:2] == [".500", ".750"]
    (effect,) = reviews.cleaning_effects(chosen, clean)
    a, b = (correctness(np.array(m, np.float32)) for m in margins)
    assert effect.measured is not None and effect.measured.test == paired_test(b, a, np.ones(4, int))
    press(at, "Compare margins")
    assert choice(at, "triplets_model").value == "net again" and "difference +.250" in words_of(at)


def test_triplets_of_a_file_are_imported_from_the_page(filled_store: Store, open_page: Open) -> None:
    at = open_page("triplets", view="Sets", set=SET)
    rows = "".join(f"River {i}.,Stream {i}.,Opera {i}.\n" for i in range(20))
    content = ("pivot,positive,negative\n" + rows).encode()
    at.file_uploader(key="triplets_own_file").set_value(("mine.csv", content, "text/csv")).run()
    press(at, "Import")
    assert not at.error
    (job,) = jobs_of(filled_store, "import-triplets")
    assert job["name"] == "mine" and Path(str(job["file"])).read_bytes() == content
    made = run_here(filled_store, "import-triplets", job, quiet=True)
    assert made["counts"]["triplets"]["total"] == 20
    assert "mine" in words_of(open_page("triplets", view="Sets", corpus="mine", set="mine"))
