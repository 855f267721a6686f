"""Lists of sentences: from a file to vectors, neighbours and themes, with the store and without."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.homes import MakeHome
from tests.jobs.test_cli import call_json
from tests.jobs.test_kinds import do
from themescope.core.errors import ConfigError, DataError, UnknownNameError
from themescope.core.metrics.partition import same_clusters
from themescope.core.types import Split
from themescope.db.store import Store

THEMES = {
    "water": "The river and the lake carry cold water to the sea in {}.",
    "money": "Taxes and prices on the market rose and banks lost money in {}.",
    "music": "The singer and the guitar played a song at the concert in {}.",
}
TINY = {"vocabulary_limit": 20_000}


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV of sentences of three themes, mixed, with the theme of each."""
    path = tmp_path_factory.mktemp("files") / "claims.csv"
    rows = [(name, said.format(1900 + i)) for i in range(12) for name, said in THEMES.items()]
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("motion", "claim"), *rows, ("water", "")])
    return path


@pytest.fixture(scope="module")
def home(make_home: MakeHome, claims: Path) -> Path:
    def fill(store: Store) -> None:
        do(store, "import-list", file=str(claims), corpus="L", group="motion")
        do(store, "train", method="mean-vectors", name="M", settings=TINY)

    return make_home(fill)


def test_a_list_becomes_a_corpus(filled: Store) -> None:
    with filled.reading() as r:
        record = r.corpora.by_name("L")
        (article,) = r.corpora.articles(record.id)
        sections, sentences = r.corpora.sections(article.id), r.corpora.sentences(article.id)
    assert [s.title for s in sections] == list(THEMES)
    assert len(sentences) == 36 and record.report["skipped"] == {"no text": 1}
    assert record.report["settings"]["section"] == "motion" and article.title == "L"


def test_themes_are_found_once_and_go_with_their_corpus(filled: Store) -> None:
    first = do(filled, "find-themes", corpus="L", model="M")
    again = do(filled, "find-themes", corpus="L", model="M")
    assert (first["cached"], again["cached"], again["run_id"]) == (False, True, first["run_id"])
    assert first["k"] == 3 and [t["size"] for t in first["themes"]] == [12, 12, 12]
    with filled.reading() as r:
        run = r.runs.get(first["run_id"])
        (labels,) = r.runs.labels(run.id).values()
        ids, margins = r.runs.margins(run.id, Split.TEST)
        sentences = r.corpora.sentences_by_id(ids)
    assert np.bincount(labels).tolist() == [12, 12, 12]
    assert len({(sentences[int(i)].section, int(c)) for i, c in zip(ids, labels, strict=True)}) == 3
    assert margins.min() > 0
    central = run.config["themes"][0]["central"]
    assert {labels[ids.tolist().index(i)] for i in central} == {0}
    with filled.writing() as w:
        w.corpora.delete(w.corpora.by_name("L").id)
        assert w.runs.labels(run.id) == {}


def test_levels_are_results_with_the_names_that_people_gave(filled: Store, tmp_path: Path) -> None:
    ends = ("castle and garden", "children and school")
    said = [
        f"{text.format(end)} {letter}"
        for number, text in zip((6, 6, 3), THEMES.values(), strict=True)
        for end in ends[: number // 3]
        for letter in "bcdfgh"[:number]
    ]
    (tmp_path / "words.csv").write_text("\n".join(["text", *said]), encoding="utf-8")
    do(filled, "import-list", file=str(tmp_path / "words.csv"), corpus="W", column="text")
    result = do(filled, "find-themes", corpus="W", model="M", settings={"k": 3})
    with filled.writing() as w:
        (run,) = w.runs.themes()
        levels = w.runs.levels(run)
        assert result["levels"] == [len(level.config["themes"]) for level in levels] and result["levels"][-1] > 3
        assert [w.runs.levels(level) for level in levels] == [levels] * len(levels) and run in levels
        (last,) = w.runs.labels(levels[-1].id).values()
        (own,) = w.runs.labels(run.id).values()
        names = {level.id: [theme["name"] for theme in level.config["themes"]] for level in levels}
        same = same_clusters(last, own)
        w.runs.rename_theme(run.id, 0, "Mine")
        now = [theme["name"] for theme in w.runs.get(levels[-1].id).config["themes"]]
    assert np.unique(np.stack([own, last]), axis=1).shape[1] == result["levels"][-1]
    assert now == ["Mine" if same.get(place) == 0 else name for place, name in enumerate(names[levels[-1].id])], (
        "a theme that no level divides has one name"
    )


def test_the_order_counts_in_a_text_and_not_in_a_list(filled: Store, tmp_path: Path) -> None:
    """The same sentences, by theme one after the other: as the paragraphs of a text, and as the rows of a table."""
    said = [text.format(1900 + i) for text in THEMES.values() for i in range(12)]
    text, table = tmp_path / "text.txt", tmp_path / "rows.csv"
    text.write_text("\n\n".join(" ".join(said[i : i + 4]) for i in range(0, len(said), 4)), encoding="utf-8")
    table.write_text("\n".join(["text", *(f'"{one}"' for one in said)]), encoding="utf-8")
    for file, order in ((text, 0.4), (table, 0.0)):
        do(filled, "import-corpus", files=[str(file)], corpus=file.stem, language="en")
        with filled.reading() as r:
            corpus = r.corpora.by_name(file.stem)
            (article,) = r.corpora.articles(corpus.id)
        args = {"corpus": corpus.name, "model": "M", "article": article.id}
        found = do(filled, "find-themes", **args)
        with filled.reading() as r:
            assert r.runs.get(found["run_id"]).config["settings"]["order"] == order
        again = do(filled, "find-themes", **args, settings={"order": 0.0})
        assert not again["cached"] and again["run_id"] != found["run_id"]


def test_identical_sentences_share_a_theme(filled: Store, tmp_path: Path) -> None:
    texts = [f"The {noun} number {i} is here." for noun in ("cell", "tax") for i in range(8)]
    file = tmp_path / "answers.csv"
    file.write_text("\n".join(["text", *texts, *["Don't know", "don't know."] * 5]), encoding="utf-8")
    do(filled, "import-list", file=str(file), corpus="Answers", column="text")
    result = do(filled, "find-themes", corpus="Answers", model="M", settings={"k": 2})
    assert (result["sentences"], result["distinct"]) == (26, 17)
    with filled.reading() as r:
        run = r.runs.get(result["run_id"])
        (labels,) = r.runs.labels(run.id).values()
        ids, _ = r.runs.margins(run.id, Split.TEST)
    assert run.config["frequent"] == [{"id": int(ids[17]), "count": 10, "theme": labels[17]}]
    assert len(set(labels[16:].tolist())) == 1 and np.unique(labels).tolist() == [0, 1]


def test_mistakes_are_told(filled: Store, claims: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="column called 'text'"):
        do(filled, "import-list", file=str(claims), corpus="X", column="text")
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b\n,x\n", encoding="utf-8")
    with pytest.raises(DataError, match="No article was found"):
        do(filled, "import-list", file=str(empty), corpus="X", column="a")
    with pytest.raises(ConfigError, match="at least 2 themes"):
        do(filled, "find-themes", corpus="L", model="M", settings={"k": 1})
    with filled.reading() as r:
        assert [c.name for c in r.corpora.list(include_unready=True)] == ["L"]


@pytest.mark.parametrize("ending", ["npy", "jsonl", "csv", "parquet"])
def test_vectors_of_a_file(ending: str, claims: Path, filled: Store, tmp_path: Path) -> None:
    with filled.reading() as r:
        model = filled.artifacts.path(r.models.by_name("M").artifact)
    out = tmp_path / f"vectors.{ending}"
    said = call_json("embed", claims, "--method", model, "--out", out)
    assert (said["sentences"], said["dim"]) == (36, 50)
    match ending:
        case "npy":
            vectors = np.load(out, allow_pickle=False)
        case "jsonl":
            vectors = np.array([json.loads(line)["vector"] for line in out.read_text("utf-8").splitlines()])
        case "csv":
            vectors = np.loadtxt(out, delimiter=",", skiprows=1, usecols=range(1, 51), quotechar='"')
        case "parquet":
            vectors = np.array(pq.read_table(out)["vector"].to_pylist())
    assert vectors.shape == (36, 50) and np.isfinite(vectors).all()
