"""Every kind of job on a small corpus: results, caching, and the sentence that bad input gets."""

import bz2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.jobs.helpers import write_articles
from themescope.core.errors import ArtifactError, PluginError, ReadError, TrainingError
from themescope.core.projection import FittedMap, sample
from themescope.core.records.stored import JobStatus
from themescope.core.types import Split
from themescope.db.store import Store
from themescope.jobs.kinds import JobCard
from themescope.jobs.queue.runner import run_here
from themescope.jobs.queue.worker import LEFTOVER_AGE, remove_leftovers


def do(store: Store, kind: str, /, **args: Any) -> dict[str, Any]:
    return run_here(store, kind, args, quiet=True)


class TestImport:
    def test_counts_and_report(self, filled: Store, thirty: Path) -> None:
        with filled.reading() as r:
            record = r.corpora.by_name("C")
        assert (record.articles, record.sections, record.sentences) == (30, 30 * 7, 30 * (1 + 6 * 4 * 2))
        assert record.report["files"] == [thirty.name]
        assert record.report["readers"] == ["headed-text"]

    def test_digest_does_not_depend_on_the_order_of_files(self, sqlite_store: Store, tmp_path: Path) -> None:
        one, other = tmp_path / "1.txt", tmp_path / "2.txt"
        one.write_text("= A =\n\nOne sentence here.\n", encoding="utf-8")
        other.write_text("= B =\n\nAnother sentence here.\n", encoding="utf-8")
        ahead = do(sqlite_store, "import-corpus", files=[str(one), str(other)], corpus="X")
        back = do(sqlite_store, "import-corpus", files=[str(other), str(one)], corpus="Y")
        assert ahead["digest"] == back["digest"]

    def test_a_broken_file_leaves_the_store_as_it_was(self, filled: Store, thirty: Path, tmp_path: Path) -> None:
        good = write_articles(tmp_path, 200)
        broken = tmp_path / "broken.txt.bz2"
        broken.write_bytes(bz2.compress(good.read_bytes())[:-40])
        with pytest.raises(ReadError, match=r"broken\.txt\.bz2"):
            do(filled, "import-corpus", files=[str(good), str(broken)], corpus="New")
        with filled.reading() as r:
            assert [c.name for c in r.corpora.list(include_unready=True)] == ["C"]
            assert r.corpora.count_articles(r.corpora.by_name("C").id) == 30
            (failed,) = r.jobs.list(status=JobStatus.FAILED)
        assert "broken.txt.bz2" in failed.error and failed.traceback == ""

    def test_what_a_dead_import_left_is_replaced_and_swept(
        self, sqlite_store: Store, thirty: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("C", "Gone"):
            with sqlite_store.writing() as w:
                w.corpora.create(name, "en")
        assert do(sqlite_store, "import-corpus", files=[str(thirty)], corpus="C")["articles"] == 30
        assert remove_leftovers(sqlite_store) == []
        monkeypatch.setattr("themescope.jobs.queue.worker.LEFTOVER_AGE", LEFTOVER_AGE * 0)
        assert remove_leftovers(sqlite_store) == ["Gone"]


class TestTriplets:
    def test_counts_kinds_and_cache(self, filled: Store) -> None:
        first = do(filled, "build-triplets", corpus="C", name="S", seed=4)
        again = do(filled, "build-triplets", corpus="C", name="other name", seed=4)
        assert (first["cached"], again["cached"], again["triplets"]) == (False, True, "S")
        with filled.reading() as r:
            stored = sum(r.triplets.count(first["triplet_set_id"], split) for split in Split)
        assert stored == first["counts"]["triplets"]["total"] > 100
        made = do(filled, "build-triplets", corpus="C", name="titles", kind="titles", splits=["test"])
        assert made["counts"]["triplets"]["train"] == 0 < made["counts"]["triplets"]["test"]
        with filled.reading() as r:
            texts = r.triplets.texts(made["triplet_set_id"], Split.TEST, limit=1)
        assert texts.positives[0].startswith("Article ")

    def test_triplets_of_ones_own_are_a_set_with_its_sentences(self, sqlite_store: Store, tmp_path: Path) -> None:
        path = tmp_path / "own.csv"
        rows = [(f"River {i // 2} floods.", f"River {i // 2} rises {i}.", f"Opera {i} begins.") for i in range(40)]
        path.write_text("\n".join(["pivot,positive,negative", *map(",".join, rows)]), encoding="utf-8")
        made = do(sqlite_store, "import-triplets", file=str(path), name="Own")
        assert made["counts"]["triplets"] == {"train": 32, "validation": 4, "test": 4, "total": 40}
        with sqlite_store.reading() as r:
            parts = {split: r.triplets.texts(made["triplet_set_id"], split) for split in Split}
            assert (r.corpora.by_name("Own").articles, r.corpora.by_name("Own").sentences) == (20, 100)
            assert "Own" in [s.name for s in r.triplets.list(r.corpora.by_name("Own").id)]
        stored = [row for p in parts.values() for row in zip(p.pivots, p.positives, p.negatives, strict=True)]
        assert sorted(stored) == sorted(rows)
        pivots = [{*p.pivots} for p in parts.values()]
        assert not pivots[0] & pivots[1] and not pivots[0] & pivots[2]

    def test_a_training_that_learned_nothing_leaves_no_model(self, sqlite_store: Store, tmp_path: Path) -> None:
        path = tmp_path / "same.csv"
        path.write_text("pivot,positive,negative\n" + "One.,Two.,Three.\n" * 20, encoding="utf-8")
        do(sqlite_store, "import-triplets", file=str(path), name="Same")
        settings = {"hidden": 4, "attention": 4, "epochs": 1, "vocabulary_limit": 1_000, "batch_size": 64}
        with pytest.raises(TrainingError, match=r"Nothing was learned: in 1 steps .* there is no model. Train on more"):
            do(sqlite_store, "train", method="triplets-sen", triplets="Same", name="M", settings=settings)
        with sqlite_store.reading() as r:
            (failed,) = r.jobs.list(status=JobStatus.FAILED)
            assert failed.error.startswith("Nothing was learned") and failed.traceback == "" and not r.models.list()


class TestModels:
    def test_a_saved_model_comes_in_once(self, filled: Store, tmp_path: Path) -> None:
        with filled.reading() as r:
            folder = filled.artifacts.path(r.models.by_name("M").artifact)
        first = do(filled, "add-model", folder=str(folder), name="saved")
        again = do(filled, "add-model", folder=str(folder), name="saved")
        assert (first["cached"], again["cached"], again["model"]) == (False, True, "saved")
        other = do(filled, "train", method="mean-vectors", name="saved", settings={"vocabulary_limit": 1000})
        assert "renamed" not in first and (other["cached"], other["model"]) == (False, "saved 2")
        assert other["renamed"] == "A model called 'saved' existed already, so the new one is called 'saved 2'."
        with filled.reading() as r:
            assert r.models.by_name("saved").method == "mean-vectors"
        with pytest.raises(ArtifactError, match=r"has no model\.json"):
            do(filled, "add-model", folder=str(tmp_path), name="X")


class TestScores:
    def test_triplet_accuracy_of_a_set_with_margins_and_of_a_file(self, filled: Store, tmp_path: Path) -> None:
        first, again = (do(filled, "evaluate-triplets", model="M", triplets="T") for _ in range(2))
        assert (first["cached"], again["cached"]) == (False, True)
        assert first["scores"] == again["scores"]
        with filled.reading() as r:
            ids, margins = r.runs.margins(first["run_id"], Split.TEST)
            rows = r.triplets.rows(r.triplets.by_name("T").id, Split.TEST)
        assert np.array_equal(ids, rows.ids)
        accuracy = np.where(margins == 0, 0.5, margins > 0).mean()
        assert first["scores"]["triplet accuracy"]["value"] == pytest.approx(accuracy)
        path = tmp_path / "t.csv"
        path.write_text(
            "Sentence1,Sentence2,Sentence3\nriver water,water river,music\nstone rock,rock stone,market\n", "utf-8"
        )
        result = do(filled, "evaluate-triplets", model="M", file=str(path))
        assert (result["scores"]["triplet accuracy"]["value"], result["triplets"]) == (1.0, 2)

    def test_clustering_is_scored_by_article_and_in_total(self, filled: Store) -> None:
        first, again = (do(filled, "cluster", model="M", clusterer="iclust", benchmark="B") for _ in range(2))
        assert (first["cached"], again["cached"]) == (False, True)
        assert first["scores"]["ami"]["value"] > 0.2
        assert first["scores"]["ami"]["n"] == 30
        with filled.reading() as r:
            labels = r.runs.labels(first["run_id"])
            items = r.benchmarks.items(r.benchmarks.by_name("B").id)
            each = [s.value for s in r.runs.scores([first["run_id"]], per_article=True) if s.metric == "ami"]
        assert {item.article_id: len(item.truth) for item in items} == {a: len(x) for a, x in labels.items()}
        assert np.mean(each) == pytest.approx(first["scores"]["ami"]["value"])

    def test_articles_that_a_model_knows_are_counted_and_random_labels_need_no_model(self, filled: Store) -> None:
        result = do(filled, "cluster", clusterer="random", benchmark="B")
        assert abs(result["scores"]["ami"]["value"]) < 0.1
        assert (result["model"], result["articles_seen_in_training"]) == ("", 0)
        do(filled, "train", method="tfidf", name="t", corpus="C", settings={"scope": "corpus"})
        result = do(filled, "cluster", model="t", clusterer="kmeans", benchmark="B")
        with filled.reading() as r:
            articles = r.corpora.articles(1, limit=99)
        assert result["articles_seen_in_training"] == sum(a.split is Split.TRAIN for a in articles) > 0


class TestMaps:
    def test_same_texts_have_one_position_unless_vectors_depend_on_more(self, filled: Store, tmp_path: Path) -> None:
        path = tmp_path / "answers.txt"
        path.write_text("".join(f"the {word} is near the river\nDo not know\n" for word in "abcdefghijklmnopqrst"))
        do(filled, "import-list", file=str(path), corpus="answers")
        do(filled, "train", method="tfidf", name="tf-idf")
        for model, different in (("M", 21), ("tf-idf", 40)):
            made = do(filled, "project", corpus="answers", model=model, settings={"epochs": 20})
            with filled.reading() as r:
                points = r.maps.points(made["map_id"]).points
            assert len(points) == 40
            assert len(np.unique(points, axis=0)) == different, model

    def test_of_many_sentences_a_sample_is_fitted_and_the_others_are_placed_in_shards(
        self, filled: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("themescope.jobs.kinds.project._SHARD_ARTICLES", 29)
        # Fewer than 1,000 texts of the corpus are different.
        monkeypatch.setattr("themescope.jobs.kinds.project.same_for_same_text", lambda model: False)
        shards: list[tuple[int, int]] = []
        place = FittedMap.__call__

        def noted(fitted: FittedMap, shard: tuple[int, Any]) -> Any:
            shards.append((shard[0], shard[1].shape[0]))
            return place(fitted, shard)

        monkeypatch.setattr(FittedMap, "__call__", noted)
        monkeypatch.setattr("themescope.jobs.executors.available_cores", lambda: 1)
        made = do(filled, "project", corpus="C", model="M", settings={"epochs": 5, "landmarks": 1_000})
        assert made["points"] == made["sampled_from"] == 30 * 49
        marks = sample(30 * 49, 1_000, 0)
        in_last = int(np.count_nonzero(marks >= 29 * 49))
        assert shards == [(0, 470 - (49 - in_last)), (1, 49 - in_last)]
        with filled.reading() as r:
            points = r.maps.points(made["map_id"]).points
        assert np.isfinite(points).all() and len(np.unique(points[marks], axis=0)) > 900


def without_settings(context: object, args) -> dict[str, Any]:
    return {}


def test_a_job_of_a_plug_in_without_settings_is_told_what_to_add() -> None:
    card = JobCard("toy-none", "Toy", "Does nothing.", factory=f"{__name__}:without_settings")
    with pytest.raises(PluginError, match="'args' must be annotated with a subclass of Config"):
        card.config_class()
