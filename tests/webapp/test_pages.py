"""Every page on an empty and on a filled store: it draws, says what to do next, and does what its buttons say."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages import PAGES
from tests.webapp.filled import BENCHMARK, CORPUS, HOSTILE, MODEL, SET, add_model, end_job, of_sections
from tests.webapp.hands import Open, jobs_of, press, words_of
from themescope.core.models import REGISTRY
from themescope.core.paths import DEFAULT, default_model, default_models, lacks_packages, pretrained_folders
from themescope.core.records.stored import JobStatus, ModelRecord
from themescope.db import tables as t
from themescope.db.records import TripletSetRecord
from themescope.db.store import Store
from themescope.jobs.common.models import find_model, pretrained_models
from themescope.webapp.features.train import form
from themescope.webapp.shared import forms
from themescope.webapp.shared.choose import BROKEN, grouped_by_method, model_label, with_tag


def every_tab(open_page: Open, page: str) -> Iterator[tuple[str, AppTest]]:
    first = open_page(page)
    names = [tab.label for tab in first.tabs]
    yield next((tab.label for tab in first.tabs if tab.children), ""), first
    for name in names[1:]:
        yield name, open_page(page, **{"tab" if page == "compare" else "view": name})


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_store_is_no_error_and_says_what_to_do(page: str, sqlite_store: Store, open_page: Open) -> None:
    for tab, at in every_tab(open_page, page):
        assert not at.error, tab
        assert len(at.title) == 1
        assert [found.label for found in at.tabs if found.children] == ([tab] if tab else [])
        if page not in ("import", "themes", "jobs", "people"):
            assert "No project yet" in words_of(at), tab
    assert "No worker is running" in words_of(at)


@pytest.mark.parametrize("page", PAGES)
def test_a_filled_store_is_shown_and_names_are_no_markdown(page: str, filled_store: Store, open_page: Open) -> None:
    for number, (tab, at) in enumerate(every_tab(open_page, page)):
        assert not at.error, tab
        for text in (words_of(at), *(element.label for element in at.expander)) if not number else ():
            assert "*bold*" not in text.replace("\\*", "") and "](http" not in text, tab


def test_a_worker_that_lives_is_not_called_missing(sqlite_store: Store, open_page: Open) -> None:
    with sqlite_store.writing() as w:
        w.workers.heartbeat("vm:1:a", "default")
        # A sign of life counts for seconds, and a busy machine may take longer over the page.
        w.workers.connection.execute(t.worker.update().values(heartbeat=datetime.now(UTC) + timedelta(hours=1)))
    at = open_page("jobs")
    assert "No worker" not in words_of(at)
    assert "Worker on vm" in words_of(at)


def test_a_job_whose_worker_died_is_not_called_running_and_can_be_ended(sqlite_store: Store, open_page: Open) -> None:
    with sqlite_store.writing() as w:
        job = w.jobs.add("train", "Train a net", {})
        w.jobs.claim(job.id, "vm:1:a")
        long_ago = datetime.now(UTC) - timedelta(hours=2)
        w.jobs.connection.execute(t.job.update().values(heartbeat=long_ago, cancel=True))
    at = open_page("jobs")
    assert "interrupted" in words_of(at) and "running" not in words_of(at).replace("No worker is running", "")
    assert "2 hours ago" in words_of(at)
    at.button(key=f"cancel-{job.id}").click().run()
    with sqlite_store.reading() as r:
        assert r.jobs.get(job.id).status is JobStatus.CANCELLED


def test_what_is_pasted_on_home_becomes_a_project_with_a_unit_a_line(filled_store: Store, open_page: Open) -> None:
    at = open_page("home")
    assert CORPUS in [link.proto.label for link in at.main.get("page_link")] and "3 texts, 72 units" in words_of(at)
    press(at, "Find themes")
    assert "Paste texts first" in at.info[0].value
    at.text_area(key="home_pasted").set_value("One; “two”, three.\n\nFour.")  # not sent yet, as before Ctrl+Enter
    at = press(at, "Find themes")
    assert "2 rows = 2 units" in words_of(at)
    press(at, "Import")
    (args,) = jobs_of(filled_store, "import-corpus")
    rows = [json.loads(line) for line in Path(args["files"][0]).read_text().splitlines()]
    assert args["corpus"] == "pasted texts" and [row["text"] for row in rows] == ["One; “two”, three.", "Four."]


def test_a_file_dropped_on_home_is_in_the_form_of_imports(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    (tmp_path / "towns.txt").write_text("A town. It lies there.\n", encoding="utf-8")
    at = open_page("import")
    at.session_state[forms.HANDED_OVER] = (tmp_path / "towns.txt",)
    at.run()
    assert at.dataframe[0].value["Unit"].tolist() == ["A town.", "It lies there."]
    assert not press(at, "Choose other files").dataframe


def test_home_says_where_a_page_went(sqlite_store: Store, open_page: Open) -> None:
    for page in ("summaries", "paper-tables"):
        assert "is gone" in open_page("home", gone=page).info[0].value


def test_an_article_is_found_by_its_address(filled_store: Store, open_page: Open) -> None:
    at = open_page("texts", corpus=CORPUS, article="Nile")
    assert at.header[0].value == "Nile"
    at = open_page("texts", corpus=CORPUS, article=HOSTILE)
    assert at.header[0].value.startswith("\\<img")


def test_a_deleted_coding_is_deleted_permanently_only_after_the_question(filled_store: Store, open_page: Open) -> None:
    record = of_sections(filled_store, "first try", "ada")
    with filled_store.writing() as w:
        w.labellings.delete(record.id, "ada")
    at = open_page("code", person="ada", view="New coding")
    press(at, "Delete permanently …")
    assert "cannot be restored" in words_of(at)
    with filled_store.reading() as r:
        assert [one.id for one in r.labellings.list(deleted=True)] == [record.id]
    press(at, "Delete permanently")
    with filled_store.reading() as r:
        assert r.labellings.list(deleted=True) == []


def test_every_method_is_queued_from_its_form_or_says_what_it_needs(filled_store: Store, open_page: Open) -> None:
    queued = set()
    for card in REGISTRY:
        at = open_page("train", method=card.title)
        train = [b for b in at.button if b.label == "Train"]
        if train:
            train[0].click().run()
            queued.add(card.id)
        else:
            assert "This method" in words_of(at), card.id
        assert not at.error, card.id
    assert {args["method"] for args in jobs_of(filled_store, "train")} == queued
    assert {"mean-vectors", "tfidf", "triplets-sen"} <= queued


def test_the_first_method_learns_and_the_model_is_taken_along(filled_store: Store, open_page: Open) -> None:
    at = open_page("train")
    method = next(box for box in at.selectbox if box.label == "Method")
    learning = [card.title for card in REGISTRY if "usual" in card.tags]
    assert sorted(method.options) == sorted(learning) and method.value == "Static encoder"
    press(at, "Train")
    assert [args["method"] for args in jobs_of(filled_store, "train")] == ["static-encoder"]
    at = open_page("compare", benchmark=BENCHMARK, run=MODEL)
    assert [b.label for b in at.button if b.label.startswith("Run ")] == ["Run mean \\*vectors\\*"]


def test_a_number_is_appended_to_the_name_of_a_model_if_it_is_taken(filled_store: Store, open_page: Open) -> None:
    at = open_page("train", method=REGISTRY.get("mean-vectors").title)
    with filled_store.writing() as w:
        add_model(w, "mean-vectors", "tfidf")
    for given, asked in (("mean-vectors", "mean-vectors 2"), ("free", "free")):
        next(t for t in at.text_input if t.label == "Model name").set_value(given)
        press(at, "Train")
        assert jobs_of(filled_store, "train")[0]["name"] == asked
    fresh = open_page("train", method=REGISTRY.get("mean-vectors").title)
    assert fresh.text_input(key="train_name_mean-vectors").value == "mean-vectors 2"


def test_a_network_goes_on_from_another_and_stops_by_another_set(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        add_model(w, "net", "triplets-sen")
        few = w.triplets.create(w.corpora.by_name(CORPUS).id, "few", "sentences", {}, 0, "few")
        w.triplets.finish(few.id, {"triplets": {"train": 4, "validation": 0, "test": 0}})
    title = REGISTRY.get("triplets-sen").title
    at = open_page("train", method=title, triplets="few")
    beginning = next(field for field in at.selectbox if field.label == "Start from")
    assert beginning.options == ["Scratch", "net"]  # and none that no training can go on from
    beginning.set_value("net").run()
    press(at, "Train")
    (args,) = jobs_of(filled_store, "train")
    assert (args["triplets"], args["validation"], args["models"]) == ("few", SET, ["net"])


def test_a_method_that_accepts_a_teacher_offers_dense_models(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        for method in ("mean-vectors", "tfidf", "set-encoder"):
            add_model(w, f"my {method}", method)
    at = open_page("train", method=REGISTRY.get("static-encoder").title)
    assert any("my set-encoder" in frame.value.to_string() for frame in at.dataframe), "of a method that is gone"
    teacher = next(field for field in at.selectbox if field.label == "Teacher")
    assert {"None", "my mean-vectors"} <= {*teacher.options}
    assert not {"my tfidf", "my set-encoder"} & {*teacher.options}
    teacher.set_value("my mean-vectors").run()
    press(at, "Train")
    (args,) = jobs_of(filled_store, "train")
    assert (args["corpus"], args["models"]) == (CORPUS, ["my mean-vectors"])


def test_a_method_is_offered_the_triplets_it_was_made_for() -> None:
    def of(kind: str, negative: str, key: str = "negative") -> TripletSetRecord:
        counts = {"triplets": {"train": 3}}
        return TripletSetRecord(1, 1, "s", kind, {key: negative}, 0, "d", counts, True, datetime.now(UTC))

    by_tags = {"title-triplets": ("titles", "adjacent"), "negative:same_article": ("sentences", "same_article")}
    tagged = [(card, *by_tags[tag]) for card in REGISTRY for tag in card.tags & by_tags.keys()]
    assert {kind for _, kind, _ in tagged} == {"titles", "sentences"}
    for card, kind, negative in tagged:
        assert form.fits(card, of(kind, negative))
        assert form.fits(card, of(kind, negative, "third"))  # as version 0.1 stored it
        assert not form.fits(card, of("sentences", "adjacent"))


def test_comparison_and_missing_combinations(filled_store: Store, open_page: Open) -> None:
    at = open_page("compare", benchmark=BENCHMARK)
    table = at.dataframe[0].value
    assert list(table["Clusterer"]) == ["Iclust", "Random labels"]
    assert list(table.columns[3:7]) == ["MI", "AMI", "RI", "ARI"]
    box = next(box for box in at.multiselect if box.label == "Models" and default_models()[0] in box.options)
    assert box.value[0] == default_models()[0]  # the pretrained default, before the newest one
    box.set_value([MODEL]).run()
    next(b for b in at.button if "missing" in b.label).click().run()
    (args,) = jobs_of(filled_store, "cluster")
    assert (args["model"], args["clusterer"], args["benchmark"]) == (MODEL, "kmeans", BENCHMARK)


def test_jobs_say_what_failed_and_try_again(filled_store: Store, open_page: Open) -> None:
    at = open_page("jobs", job="1")
    assert not [b for b in at.button if b.label == "Try again"], "job 1 has gone well"
    at = open_page("jobs", job="2")
    assert "There is no \\*triplet set\\*" in words_of(at)
    press(at, "Try again")
    with filled_store.reading() as r:
        assert [job.kind for job in r.jobs.list(status=JobStatus.QUEUED)] == ["train"]
    press(at, "Cancel")
    with filled_store.reading() as r:
        assert r.jobs.list(status=JobStatus.QUEUED) == []


def test_a_page_that_fails_says_so(filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no <b>luck</b>")

    monkeypatch.setattr("themescope.webapp.features.texts.articles.browse", broken)
    at = open_page("texts")
    assert BROKEN in at.error[0].value
    assert "\\<b\\>" in at.error[0].value


def test_a_good_end_is_told_once_and_a_long_queue_is_listed(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        done = end_job(w, "cluster", "Cluster rivers")
        for number in range(9):
            w.jobs.add("cluster", f"Clustering {number}", {})
    at = open_page("compare")
    shown = [b for b in at.button if str(b.key).startswith("jobs_tray-cancel-")]
    assert len(shown) == 6 and "more job" in words_of(at)
    shown[0].click().run()
    with filled_store.reading() as r:
        assert [job.title for job in r.jobs.list(status=JobStatus.CANCELLED)] == ["Clustering 0"]
    at.session_state["followed_jobs"] = [done]
    assert [toast.value.partition(" in ")[0] for toast in at.run().toast] == ["**Cluster rivers** finished"]
    assert not at.run().toast


DEFAULT_MODEL, PRETRAINED = default_model(), set(pretrained_folders())


@pytest.fixture
def untrained(filled_store: Store) -> Store:
    """The filled store without its model."""
    with filled_store.writing() as w:
        w.models.delete(w.models.by_name(MODEL).id)
    return filled_store


def test_a_map_and_other_methods_build_on_it(untrained: Store, open_page: Open) -> None:
    press(open_page("map", corpus=CORPUS), "Create map")  # without maps the form stands open
    assert [args["model"] for args in jobs_of(untrained, "project")] == [DEFAULT_MODEL]
    press(open_page("train", method="Hybrid of models and tf-idf"), "Train")
    at = open_page("train", method="Thematic encoder in context")
    (base,) = [field for field in at.selectbox if field.label == "Base model"]
    assert set(base.options) == {model.name for model in pretrained_models() if model.method == "thematic-encoder"}
    base.set_value(DEFAULT_MODEL).run()
    press(at, "Train")
    assert [args["models"] for args in jobs_of(untrained, "train")] == [[DEFAULT_MODEL]] * 2


def test_it_is_listed_before_and_after_it_is_stored(untrained: Store, open_page: Open) -> None:
    at = open_page("train")
    table = at.dataframe[0].value
    assert (set(table["Model"]), set(table["Created"])) == (PRETRAINED, {"pretrained"})
    assert not [b for b in at.button if "Delete" in b.label]
    find_model(untrained, DEFAULT)
    at = open_page("train", model=DEFAULT_MODEL)
    table = at.dataframe[0].value
    assert set(table["Model"]) == PRETRAINED
    assert (table["Created"][table["Model"] == DEFAULT_MODEL] != "pretrained").all()
    assert [b for b in at.button if "Delete" in b.label]


def test_forms_suggest_the_best_models_and_offer_all(filled_store: Store, open_page: Open) -> None:
    at = open_page("compare", benchmark=BENCHMARK)
    (models,) = [m for m in at.multiselect if m.label == "Models" and DEFAULT_MODEL in m.options]
    # The pretrained ones, the default first, then the stored one, whose benchmark has too few articles to count.
    assert models.value == [*(name for name in default_models() if not lacks_packages(name)), MODEL]
    assert set(models.options) == {MODEL, *PRETRAINED}


def model(number: int, method: str) -> ModelRecord:
    made = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(hours=number)
    return ModelRecord(number, f"model {number}", method, {}, 0, f"d{number}", None, None, {}, f"a{number}", made)


def test_models_of_one_method_stand_together_and_the_newest_first() -> None:
    methods = ("tfidf", "mean-vectors", "tfidf", "mean-vectors")
    found = grouped_by_method([model(number, method) for number, method in enumerate(methods, 1)])
    assert [m.id for m in found] == [4, 2, 3, 1]
    assert [m.id for m in with_tag(found, "sparse")] == [3, 1]


def test_a_model_says_what_it_is_and_one_of_an_unknown_method_its_id() -> None:
    assert model_label(model(1, "tfidf")) == "model 1 · Tf-idf"
    assert model_label(model(1, "from elsewhere")) == "model 1 · from elsewhere"
