"""A wave is placed: vectors, points and predicted codes for its sentences alone; what is stored stays as it is."""

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.homes import MakeHome
from tests.jobs.test_kinds import do
from tests.jobs.test_waves import stored
from themescope.core import projection
from themescope.core.errors import DataError, UnknownNameError
from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.types import Ids, Split
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common.columns import without_waves
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

MODEL = "static-wikipedia"
THEMES = {
    "Housing": ("rent", "flat", "landlord", "apartment", "tenant", "housing"),
    "Trains": ("train", "station", "railway", "track", "platform", "locomotive"),
    "Schools": ("teacher", "school", "pupil", "lesson", "classroom", "homework"),
}
NEW = ("virus", "vaccine", "infection", "hospital", "epidemic", "disease")
_FRAMES = ("The {} was bad and the {} was worse.", "We need a better {} and another {}.", "Why is the {} like a {}?",
           "A {} is what people want, not a {}.", "Nobody asked about the {} or the {}.")  # fmt: skip


def sentences(words: tuple[str, ...], count: int, seed: int) -> list[str]:
    """Different sentences with two words of a theme each."""
    pairs = [(one, other) for one in words for other in words if one != other]
    every = [frame.format(*pair) for pair in pairs for frame in _FRAMES]
    return [every[i] for i in np.random.default_rng(seed).permutation(len(every))[:count]]


def write(path: Path, texts: list[str]) -> str:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["text"], *([text] for text in texts)])
    return str(path)


def listed(store: Store, kind: str, file: str, **args: Any) -> dict[str, Any]:
    settings = {"text": "text", "rows": "sentences"}
    return do(store, kind, files=[file], corpus="C", reader="table", settings=settings, **args)


def begin(store: Store) -> LabellingSession:
    """A labelling of the whole project with a cluster for each theme."""
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
    record = starts.begin(store, NewLabelling(corpus.id, "mine", ""), starts.from_nothing)
    session = LabellingSession(store, record.id, "")
    for name, words in THEMES.items():
        ids = [i for i, text in session.texts.items() if any(word in text for word in words)]
        session.do(op.create(session.partition, session.next_number, name, np.array(ids, np.int64)))
    return session


def fill_without_wave(store: Store, folder: Path) -> None:
    """Add the list "C", its vectors, map, themes and labelling; write files to ``folder``."""
    old = [text for words in THEMES.values() for text in sentences(words, 60, 0)]
    listed(store, "import-corpus", write(folder / "old.csv", old))
    do(store, "embed", corpus="C", model=MODEL)
    do(store, "project", corpus="C", model=MODEL, settings={"epochs": 20})
    do(store, "find-themes", corpus="C", model=MODEL, settings={"k": 3, "subsamples": 1})
    begin(store)


def fill_with_wave(store: Store, folder: Path) -> None:
    """Add what :func:`fill_without_wave` adds, and a wave that is not placed."""
    fill_without_wave(store, folder)
    wave = [text for words in THEMES.values() for text in sentences(words, 10, 1)]
    listed(store, "append-corpus", write(folder / "new.csv", wave + sentences(NEW, 20, 2)), wave="spring")


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    return make_home(lambda store: fill_with_wave(store, folder))


def wave_of(store: Store) -> Ids:
    with store.reading() as r:
        return r.corpora.sentence_ids(r.corpora.by_name("C").id, 1)


def test_only_the_wave_is_computed_and_the_old_stays_byte_by_byte(filled: Store, tmp_path: Path) -> None:
    before, ids = stored(filled), wave_of(filled)
    with filled.reading() as r:
        (record,) = r.maps.list()
        old = r.maps.points(record.id)
    result = do(filled, "place-wave", corpus="C")
    assert (result["wave"], result["sentences"], result["embedded"]) == ("spring", 50, 1)
    assert result["maps"] == [{"map": record.name, "map_id": record.id, "points": 50}] and result["left_out"] == {}
    after = stored(filled)
    for table in set(before) - {"map", "embedding"}:
        assert after[table] == before[table], table
    assert set(before["embedding"]) < set(after["embedding"])
    with filled.reading() as r:
        (placed,) = r.maps.list()
        points = r.maps.points(record.id)
    assert points.points[: len(old.points)].tobytes() == old.points.tobytes() and placed.digest != record.digest
    assert points.sentence_ids.tolist() == [*old.sentence_ids.tolist(), *ids.tolist()]
    assert placed.sampled_from == record.sampled_from + 50 and np.isfinite(points.points).all()
    again = do(filled, "place-wave", corpus="C", wave="spring")
    assert (again["embedded"], again["maps"][0]["points"]) == (0, 0)
    with pytest.raises(UnknownNameError, match="spring"):
        do(filled, "place-wave", corpus="C", wave="sprung")
    file = write(tmp_path / "other.csv", ["One sentence.", "Another one."])
    do(filled, "import-corpus", files=[file], corpus="D", reader="table", settings={"text": "text"})
    with pytest.raises(DataError, match="No wave was added"):
        do(filled, "place-wave", corpus="D")


def test_a_second_wave_changes_no_byte_and_a_text_of_the_map_keeps_its_point(
    filled: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also if the layout was fitted on other texts."""
    drawn = projection.sample
    do(filled, "place-wave", corpus="C")
    old = sentences(THEMES["Trains"], 60, 0)
    before = stored(filled)
    with filled.reading() as r:
        (record,) = r.maps.list()
        first = r.maps.points(record.id)
    listed(filled, "append-corpus", write(tmp_path / "old.csv", old), wave="again", duplicates="keep")
    monkeypatch.setattr(projection, "sample", lambda n, most, seed: drawn(n, min(most, 60), seed))
    result = do(filled, "place-wave", corpus="C")
    assert (result["embedded"], result["maps"][0]["points"], result["labellings"][0]["predicted"]) == (1, 60, 60)
    after = stored(filled)
    for table in set(before) - {"map"}:
        assert set(map(repr, before[table])) <= set(map(repr, after[table])), table
    with filled.reading() as r:
        placed = r.maps.points(record.id)
        known = r.corpora.sentences_by_id(placed.sentence_ids)
    assert placed.points.tobytes().startswith(first.points.tobytes())
    assert placed.sentence_ids.tobytes().startswith(first.sentence_ids.tobytes())
    texts = [known[int(id)].text for id in placed.sentence_ids]
    assert len(texts) - len(set(texts)) == len(old)
    assert len({(text, *point) for text, point in zip(texts, placed.points.tolist(), strict=True)}) == len(set(texts))


def test_codes_are_predictions_and_what_is_new_is_a_named_candidate(filled: Store) -> None:
    do(filled, "place-wave", corpus="C")
    with filled.reading() as r:
        (labelling,) = r.labellings.list()
        (found,) = r.predictions.list(labelling.id)
        assert r.predictions.newest(labelling.id) is None  # the rest is a layer of its own
        ids, probabilities = r.predictions.values(found.id)
        texts = {i: s.text for i, s in r.corpora.sentences_by_id(ids).items()}
        names = {n: c.name for n, c in r.labellings.snapshot(labelling.id).partition.clusters.items()}
    assert (found.wave, found.model, found.labels) == ("spring", MODEL, 180) and ids.tolist() == wave_of(
        filled
    ).tolist()
    best = [names[found.codes[row]] for row in probabilities.argmax(1)]
    truth = [next((n for n, words in THEMES.items() if any(w in texts[i] for w in words)), "") for i in ids.tolist()]
    known = [(one, other) for one, other in zip(best, truth, strict=True) if other]
    assert np.mean([one == other for one, other in known]) > 0.9 and np.allclose(probabilities.sum(1), 1, atol=0.01)
    (candidate,) = found.report["candidates"]
    new = {i for i, name in zip(ids.tolist(), truth, strict=True) if not name}
    assert len(new & set(candidate["sentences"])) > 15 and len(set(candidate["sentences"]) - new) < 3
    assert any(word in candidate["name"].lower() for word in NEW)


def test_themes_are_continued_in_a_result_of_their_own(filled: Store) -> None:
    with filled.reading() as r:
        (old,) = r.runs.themes()
        before, corpus = r.runs.labels(old.id), r.corpora.by_name("C")
    assert (
        without_waves(corpus, old.config["sampled_from"], "result")
        == "50 sentences of “spring” are not in this result."
    )
    result = do(filled, "place-wave", corpus="C")["themes"]
    with filled.reading() as r:
        earlier, new = r.runs.themes()
        after = r.runs.labels(new.id)
        ids, margins = r.runs.margins(new.id, Split.TEST)
    assert earlier == old and (result["run_id"], result["continues"]) == (new.id, old.id)
    assert all(after[article].tobytes() == labels.tobytes() for article, labels in before.items())
    themes = new.config["themes"]
    assert [theme["name"] for theme in themes[:3]] == [theme["name"] for theme in old.config["themes"]]
    assert [theme.get("wave") for theme in themes] == [None, None, None, "spring"] and len(result["new"]) == 1
    assert sum(theme["size"] for theme in themes) == new.config["sentences"] == len(ids) == len(margins) == 230
    sizes = np.bincount(np.concatenate(list(after.values())))
    assert sizes.tolist() == [theme["size"] for theme in themes] and sizes[3] > 15
    assert without_waves(corpus, new.config["sampled_from"], "result") == ""
    with filled.reading() as r:
        levels, earlier = r.runs.levels(new), r.runs.levels(old)
        placed = [np.concatenate(list(r.runs.labels(level.id).values())) for level in levels]
    assert [len(level.config["themes"]) for level in levels] == [len(level.config["themes"]) + 1 for level in earlier]
    assert len(levels) > 1 and new in levels
    assert [level.config["continues"] for level in levels] == [level.id for level in earlier]
    for above, below in pairwise(placed):
        assert np.unique(np.stack([above, below]), axis=1).shape[1] == below.max() + 1
    assert do(filled, "place-wave", corpus="C")["themes"] is None


def test_a_later_clustering_continues_the_themes_that_it_finds_again(filled: Store) -> None:
    with filled.writing() as w:
        (old,) = w.runs.themes()
        for place, name in enumerate(("First", "Second", "Third")):
            w.runs.rename_theme(old.id, place, name)
    result = do(filled, "find-themes", corpus="C", model=MODEL, settings={"k": 4, "subsamples": 1})
    with filled.reading() as r:
        before, after = r.runs.labels(old.id), r.runs.labels(result["run_id"])
        themes = r.runs.get(result["run_id"]).config["themes"]
    assert [theme["name"] for theme in themes[:3]] == ["First", "Second", "Third"] and len(themes) == 4
    assert themes[3]["name"] not in ("First", "Second", "Third")
    (article,) = before
    assert np.mean(before[article] == after[article]) > 0.8
    assert np.bincount(np.concatenate(list(after.values()))).tolist() == [theme["size"] for theme in themes]
    assert do(filled, "find-themes", corpus="C", model=MODEL, settings={"k": 4, "subsamples": 1})["cached"]


def test_sentences_with_codes_are_not_predicted_and_labellings_that_cannot_be_are_named_with_the_reason(
    filled: Store,
) -> None:
    with filled.reading() as r:
        (labelling,) = r.labellings.list()
    session = LabellingSession(filled, labelling.id, "")
    session.extend()
    placed = wave_of(filled)[:7]
    session.do(op.assign(session.partition, placed, 1))
    starts.begin(filled, NewLabelling(labelling.corpus_id, "empty", ""), starts.from_nothing)
    starts.begin(filled, NewLabelling(labelling.corpus_id, "blind", "", blind=True), starts.from_nothing)
    result = do(filled, "place-wave", corpus="C")
    assert [one["labelling"] for one in result["labellings"]] == ["mine"]
    assert "two themes" in result["left_out"]["empty"] and "Blind" in result["left_out"]["blind"]
    with filled.reading() as r:
        ids, _ = r.predictions.values(r.predictions.list(labelling.id)[0].id)
    assert set(ids.tolist()) == set(wave_of(filled).tolist()) - set(placed.tolist())
    assert (session.partition.numbers == UNASSIGNED).sum() == len(ids)
