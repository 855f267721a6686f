"""The Themes page: from pasted sentences to queued jobs, and from a stored analysis to files."""

import csv
import io
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.choices import choice
from tests.webapp.filled import CORPUS, HOSTILE, MODEL
from tests.webapp.hands import press, words_of
from tests.webapp.listed import listed, listing
from themescope.core.errors import DataError, DuplicateNameError, UnknownNameError
from themescope.core.records.stored import JobStatus, Role
from themescope.core.types import Article, Paragraph, Section, Split
from themescope.db.records import MapPoints
from themescope.db.store import Store
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import themes as state
from themescope.webapp.features.themes import by_column, results
from themescope.webapp.features.themes.new_list import EXAMPLE
from themescope.webapp.shared.results import compare_queries

Open = Callable[..., AppTest]


@pytest.fixture
def analysed(filled_store: Store) -> Store:
    """The filled store with a list of twelve sentences and two themes in it."""
    texts = [f"={i} {HOSTILE}" if i == 0 else f"Sentence {i} of the list." for i in range(12)]
    with filled_store.writing() as w:
        corpus = w.corpora.create("My list", "en")
        section = Section("talks", 2, tuple(Paragraph("", (t,)) for t in texts), ("talks",))
        w.corpora.add_articles(corpus.id, [Article("My list", (section,))])
        w.corpora.finish(corpus.id, {})
        (article,) = w.corpora.articles(corpus.id)
        ids = np.array([s.id for s in w.corpora.sentences(article.id)])
        model = w.models.by_name(MODEL)
        labels = np.array([0] * 7 + [1] * 5, dtype=np.int32)
        described = [
            {"name": HOSTILE, "words": [HOSTILE], "size": 7, "central": ids[:3].tolist()},
            {"name": "two", "words": ["two"], "size": 5, "central": ids[7:9].tolist()},
        ]
        curves = {"ks": [2, 3], "silhouette": [0.2, 0.1], "gain": [0.1, 0.2], "stability": [0.9, 0.5], "sentences": 12}
        w.runs.add(
            kind="themes",
            digest="th1",
            model_id=model.id,
            clusterer="iclust",
            seconds=1.0,
            config={
                "corpus_id": corpus.id,
                "settings": {"shared": 2.0},
                "themes": described,
                "curves": curves,
                "reason": "At 2 clusters.",
                "interval": [2, 4],
                "sentences": 12,
                "compared": 9,
                "distinct": 9,
                "usual": 9,
                "frequent": [{"id": int(ids[i]), "count": n, "theme": 0} for i, n in ((2, 3), (0, 2))],
            },
            assignments={article.id: labels},
            margins={Split.TEST: (ids, np.linspace(-0.1, 0.5, 12).astype(np.float32))},
        )
        w.maps.add(
            corpus_id=corpus.id, model_id=model.id, name="m", config={}, seed=0, digest="thm", faithfulness=0.5,
            sampled_from=12, points=MapPoints(ids, np.random.default_rng(0).normal(size=(12, 2)).astype(np.float32)),
        )  # fmt: skip
    return filled_store


def queued(store: Store) -> list[str]:
    with store.reading() as r:
        return [job.kind for job in sorted(r.jobs.list(status=JobStatus.QUEUED), key=lambda job: job.id)]


def test_the_example_is_loaded_and_asked_about(filled_store: Store, open_page: Open) -> None:
    at = press(open_page("themes"), "Load example")
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    assert f"{len(lines)} sentences" in words_of(at)
    next(box for box in at.selectbox if box.label == "Model").set_value(MODEL).run()
    press(at, "Find themes")
    assert not at.exception
    assert queued(filled_store) == ["import-list", "embed", "find-themes", "project"]
    with filled_store.reading() as r:
        jobs = {job.kind: job for job in r.jobs.list(status=JobStatus.QUEUED)}
    assert jobs["embed"].after == jobs["import-list"].id and jobs["find-themes"].after == jobs["embed"].id
    assert jobs["project"].after == jobs["find-themes"].id
    assert jobs["find-themes"].args["corpus"] == jobs["import-list"].args["corpus"] == "My sentences"


def test_an_analysis_is_shown_letter_by_letter(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", view="Results", corpus="My list")
    assert not at.exception and not at.error
    assert "**12 sentences** in **2 themes** · Low confidence: **17%**" in words_of(at)
    assert listing(at)["total"] == 12
    row = listed(at)[0]
    assert (row["text"], row["theme"], row["note"]) == ("Sentence 6 of the list.", HOSTILE, "0.23")
    assert row["place"] == ""
    for element in at.markdown:
        assert "*bold*" not in element.value.replace("\\*", "")
    at.selectbox(key=state.THEME).set_value("2. two").run()
    assert [row["theme"] for row in listed(at)] == ["two"] * 5
    assert "theme 2. two · themes of My list" in words_of(at).replace("\\", "")


def test_repeated_texts_are_named_with_their_share(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", view="Results", corpus="My list")
    told = at.info[0].value.replace("\\", "")
    assert told.startswith("25% of the sentences have the same text: “Sentence 2 of the list.” (3 of 12). Next: “=0 ")
    assert told.endswith("There are 9 different texts.")
    (within,) = (caption.value for caption in at.caption if "among them" in caption.value)
    assert within.replace("\\", "").startswith("3 × “Sentence 2 of the list.” and 2 × “=0")


def test_a_theme_is_renamed_with_its_result(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus="My list", view="Results")
    at.text_input(key="themes_new_theme_name_th1_1").set_value("Second *theme*").run()
    assert not at.exception
    (analysis,) = compare_queries.analyses()
    assert [theme["name"] for theme in analysis.themes] == [HOSTILE, "Second *theme*"]
    assert "2. Second *theme*" in at.selectbox(key=state.THEME).options
    assert {row["theme"] for row in listed(at)} == {HOSTILE, "Second *theme*"}
    for name, error in (("", DataError), (HOSTILE, DuplicateNameError), ("x" * 201, DataError)):
        with analysed.writing() as w, pytest.raises(error):
            w.runs.rename_theme(analysis.run.id, 1, name)
    with analysed.writing() as w, pytest.raises(UnknownNameError):
        w.runs.rename_theme(analysis.run.id, 2, "third")


def test_labellers_do_not_rename_what_others_see(analysed: Store, open_page: Open) -> None:
    with analysed.writing() as w:
        w.people.set_role("root", Role.ADMIN, "")
    at = open_page("themes", person="lea", corpus="My list", view="Results")
    assert not any(box.key == "themes_new_theme_name_th1_1" for box in at.text_input)


def test_files_are_safe_for_spreadsheets(analysed: Store) -> None:
    (analysis,) = compare_queries.analyses()
    listed = compare_queries.theme_listing(analysis.run.id, analysis.run.created)
    rows = results.export(analysis, listed, np.arange(12))
    written = list(csv.DictReader(io.StringIO(csv_text(results.HEADER, rows), newline="")))
    assert written[0]["sentence"].startswith("'=0") and rows[0][results.HEADER.index("sentence")].startswith("=0")
    assert {row["group"] for row in written} == {"talks"}
    assert [int(row["sentence_id"]) for row in written] == listed.ids[:12].tolist()
    assert {"article", "position", "paragraph", "start"} < set(written[0])


@pytest.mark.usefixtures("analysed")
def test_more_themes_than_fit_are_shown_on_request(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_CARDS", 1)
    at = open_page("themes", corpus="My list", view="Results")
    assert "1 smaller theme; choose one below" in words_of(at) and "**2. two**" not in words_of(at)
    press(at, "Show more themes")
    assert "**2. two**" in words_of(at) and not [b for b in at.button if b.label == "Show more themes"]


def reclustered(at: AppTest, store: Store, number: int) -> int:
    """Ask for another number of themes; the id of the job that finds them."""
    at.session_state["themes_why"] = True  # unfolded
    at = at.run()
    box = next(box for box in at.number_input if box.label == "Number of themes")
    box.set_value(number).run()
    press(at, "Recluster")
    with store.reading() as r:
        return max(job.id for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == "find-themes")


def end(store: Store, job: int, run: int) -> None:
    """End a job with a result, and the jobs that it waits for."""
    with store.writing() as w:
        for one in range(w.jobs.get(job).after or job, job + 1):
            w.jobs.claim(one, "worker")
            w.jobs.finish(one, "worker", JobStatus.DONE, result={"run_id": run, "sentences": 12})


def test_the_selector_and_the_page_show_the_same_result(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus="My list", view="Results")
    box = choice(at, state.RESULT)
    assert box.value.endswith("2 themes")
    job = reclustered(at, analysed, 3)
    new = with_three_themes(analysed)
    at.run()
    assert choice(at, state.RESULT).value.endswith("2 themes")
    end(analysed, job, new)
    at.run()
    assert choice(at, state.RESULT).value.endswith("3 themes") and "in **3 themes**" in words_of(at)
    choice(at, state.RESULT).set_value(next(o for o in box.options if o.endswith("2 themes"))).run()
    assert not at.exception and "in **2 themes**" in words_of(at)


def test_a_browser_that_has_not_drawn_the_new_result_does_not_undo_it(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus="My list", view="Results")
    job = reclustered(at, analysed, 3)
    end(analysed, job, with_three_themes(analysed))
    before = at._tree.get_widget_states()
    pressed = [one for one in before.widgets if one.WhichOneof("value") == "trigger_value"]
    for one in pressed:  # a browser sends a button once, when it is clicked
        before.widgets.remove(one)
    at.run()
    assert choice(at, state.RESULT).value.endswith("3 themes")
    at._run(before)  # a timer of a fragment sends what the browser shows
    assert choice(at, state.RESULT).value.endswith("3 themes") and "in **3 themes**" in words_of(at)


def with_three_themes(store: Store, k: int = 0) -> int:
    """A stored result with one theme more; returns its id."""
    with store.writing() as w:
        (run,) = w.runs.list(kind="themes")
        themes = [*run.config["themes"], {"name": "three", "words": ["three"], "size": 0, "central": []}]
        ids, margins = w.runs.margins(run.id, Split.TEST)
        return w.runs.add(
            kind="themes", digest="th2", model_id=run.model_id, clusterer="iclust", seconds=1.0,
            config={**run.config, "themes": themes, "settings": {"k": k, "shared": 2.0}},
            assignments=w.runs.labels(run.id),
            margins={Split.TEST: (ids, margins)},
        ).id  # fmt: skip


def test_a_number_whose_themes_are_stored_shows_them(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus="My list", view="Results")
    with analysed.reading() as r:
        (run,) = r.runs.list(kind="themes")
    job = reclustered(at, analysed, 3)
    at.session_state[state.VIEW] = state.NEW
    at.run()
    end(analysed, job, run.id)
    at.run()
    assert not at.exception and choice(at, state.RESULT).value.endswith("2 themes")


def test_the_page_opens_at_the_themes_of_the_project(analysed: Store, open_page: Open) -> None:
    assert choice(open_page("themes", corpus="My list"), state.RESULT).value
    assert open_page("themes", corpus=CORPUS).text_area
    without = open_page("themes", corpus=CORPUS, themes_view=state.RESULTS)
    assert "Find themes and draw the map" in [button.label for button in without.button]
    assert open_page("themes", corpus="My list", themes_view=state.NEW).text_area


def test_more_themes_are_a_click_away_and_what_differs_is_shown(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus="My list", view="Results")
    assert [b.label for b in at.button if str(b.key).startswith("themes_step_")] == ["Suggested: 2", "More: 4"]
    press(at, "More: 4")
    with analysed.reading() as r:
        asked = next(job for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == "find-themes")
    assert asked.args["settings"] == {"k": 4, "shared": 2.0}
    end(analysed, asked.id, with_three_themes(analysed, k=4))
    at.run()
    assert "in **3 themes**" in words_of(at)
    at.session_state["themes_differs_th2"] = True
    at.run()
    assert "2 of 3 themes have at least 90 % of their sentences from one of the suggested themes" in words_of(at)
    press(at, "Suggested: 2")
    assert not at.exception and choice(at, state.RESULT).value.endswith("2 themes")


@pytest.mark.parametrize(
    ("k", "interval", "offered"),
    [(39, (22, 68), [22, 39, 68]), (22, (20, 29), [13, 22, 37]), (2, (2, 2), [2, 3]), (12, (12, 12), [7, 12, 20])],
)
def test_numbers_around_the_suggested_one(k: int, interval: tuple[int, int], offered: list[int]) -> None:
    assert list(by_column.steps(k, interval).values()) == offered


def test_parts_of_a_theme_are_those_of_the_common_sentences() -> None:
    first = np.array([1, 2, 3, 4, 5, 9]), np.array([0, 0, 0, 0, 1, 2])
    second = np.array([5, 4, 3, 2, 1]), np.array([0, 2, 2, 2, 1])
    assert by_column.parts(first, second, 3) == [[(2, 0.75), (1, 0.25)], [(0, 1.0)], []]
