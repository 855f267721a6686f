"""Corpora as Hugging Face datasets and back: the package datasets reads our rows, and we read what it saves."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.homes import MakeHome
from tests.jobs.test_kinds import do
from themescope.core.columns import ColumnLevel, ColumnType
from themescope.core.errors import ConfigError, DataError, ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.arrow_tables import METADATA, dataset_files, is_dataset
from themescope.core.readers.formats import detect, preview
from themescope.core.text.cleaning import clean
from themescope.core.types import SILENT, Article, Paragraph, Section
from themescope.db.records import NewLabelling
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs import datasets as writing
from themescope.jobs.common.columns import find_types
from themescope.jobs.services.labelling import starts

TEXTS = (
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=12)
    .map(clean)
    .filter(bool)
)
VALUES = {
    "place": st.sampled_from(["Ada", "Bea", None]), "amount": st.sampled_from([1, 2.5, -3, None]),
    "day": st.sampled_from([datetime(2024, 5, 17), datetime(1999, 1, 1), None]), "text": st.sampled_from(["x", "y"]),
}  # fmt: skip


@st.composite
def articles(draw: st.DrawFn) -> Article:
    sections: list[Section] = [Section("", 1, _paragraphs(draw))]
    for title in draw(st.lists(TEXTS, max_size=3)):
        above = [s for s in sections if s.path and draw(st.booleans())][:1]
        path = (*(above[0].path if above else ()), title)
        sections.append(Section(title, len(path) + 1, _paragraphs(draw), path))
    found = Article(draw(TEXTS), tuple(sections), *(draw(st.sampled_from(["", "a b"])) for _ in range(3)),
                    draw(st.sampled_from(["train", "test", ""])))  # fmt: skip
    count = found.sentence_count()
    values = {f"own {name}": draw(of) for name, of in VALUES.items() if draw(st.booleans())}
    rows = {name: [draw(of) for _ in range(count)] for name, of in VALUES.items() if count and draw(st.booleans())}
    return Article(found.title, found.sections, found.url, found.source, found.topic, found.part, values, rows)


def _paragraphs(draw: st.DrawFn) -> tuple[Paragraph, ...]:
    return tuple(
        Paragraph("", tuple(texts)) for texts in draw(st.lists(st.lists(TEXTS, min_size=1, max_size=3), max_size=2))
    )


@pytest.fixture(scope="module")
def store(make_home: MakeHome) -> Iterator[Store]:
    found = Store(Settings.in_folder(make_home(lambda store: None)))
    yield found
    found.close()


def add(store: Store, name: str, listed: list[Article]) -> None:
    """Store articles with typed columns, as an import does."""
    with store.writing() as w:
        corpus = w.corpora.create(name, "en")
        w.corpora.add_articles(corpus.id, listed)
    find_types(_Context(store), corpus.id, lambda column: "", SILENT)
    with store.writing() as w:
        w.corpora.finish(corpus.id, {})


class _Context:
    """As much of the context of a job as the types of columns need."""

    def __init__(self, store: Store) -> None:
        self.store, self.writing = store, store.writing


def content(store: Store, name: str) -> list[Any]:
    """All of a corpus but its ids, and the numbers of missing values, which leave out articles without a column."""
    with store.reading() as r:
        corpus = r.corpora.by_name(name)
        columns = r.columns.list(corpus.id)
        found: list[Any] = [(c.name, c.level, c.type, {**c.about, "missing": 0}) for c in columns]
        for article, sections, sentences in r.corpora.iterate(corpus.id):
            found.append((article.title, article.url, article.source, article.topic, article.part))
            found += [(s.position, s.level, s.title, s.path) for s in sections]
            found += [(s.text, s.section, s.paragraph, s.position, s.opens_paragraph, s.start) for s in sentences]
        owners = np.array([article.id for article in r.corpora.articles(corpus.id)], np.int64)
        ids = {ColumnLevel.SENTENCE: r.corpora.sentence_ids(corpus.id), ColumnLevel.ARTICLE: owners}
        return [*found, [str(r.columns.values(c, ids[c.level]).tolist()) for c in columns]]


@settings(max_examples=8, phases=[Phase.explicit, Phase.generate])  # shrinking would take minutes
@given(listed=st.lists(articles(), min_size=1, max_size=5))
def test_an_exported_corpus_comes_back_unchanged(
    store: Store, tmp_path_factory: pytest.TempPathFactory, listed: list[Article]
) -> None:
    with store.reading() as r:
        name, again = r.corpora.usable_name("C"), r.corpora.usable_name("D")
    add(store, name, listed)
    folder = tmp_path_factory.mktemp("dataset") / "folder"
    result = do(store, "export-dataset", corpus=name, folder=str(folder))
    assert result["sentences"] == sum(article.sentence_count() for article in listed)
    if not result["sentences"]:
        return
    assert detect(folder) == "table"
    do(store, "import-corpus", files=[str(folder)], corpus=again)
    assert content(store, again) == content(store, name)


ARTICLES = [
    Article(f"Town {i}", (Section("", 1, (Paragraph("", (f"It is town {i}.", "It is old.")),)), Section("Sights", 2),
                          Section("Rivers", 3, (Paragraph("", (f"River {i} is long.",)),), ("Sights", "Rivers"))),
            topic="towns", values={"size": i}, sentence_values={"mood": ["dull", "old", "long"], "label": [1, 2, 3]})
    for i in range(40)
]  # fmt: skip


@pytest.fixture(scope="module")
def towns(store: Store) -> str:
    add(store, "towns", ARTICLES)
    with store.reading() as r:
        corpus = r.corpora.by_name("towns")
    starts.begin(store, NewLabelling(corpus.id, "by section", "lea"), starts.from_sections)
    return corpus.name


def datasets_package() -> Any:
    package = pytest.importorskip("datasets")
    package.disable_progress_bars()
    return package


def loaded(folder: Path, *subset: str) -> Any:
    return datasets_package().load_dataset(str(folder), *subset, cache_dir=str(folder.parent / "cache"))


def test_the_package_loads_exactly_our_rows(
    store: Store, towns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "GROUP_ROWS", 7)
    monkeypatch.setattr(writing, "SHARD_ROWS", 30)
    made = do(store, "export-dataset", corpus=towns, folder=str(tmp_path / "towns"), labelling="by section")
    found = loaded(tmp_path / "towns")
    assert {split: len(rows) for split, rows in found.items()} == made["splits"]
    assert len(list((tmp_path / "towns" / "sentences").glob("train-*"))) > 1
    features = found["train"].features
    assert features["label"].names == ["Introduction", "Rivers"] and features["section"].feature.dtype == "string"
    rows = sorted(
        (row for split in found.values() for row in split), key=lambda row: (row["article_number"], row["position"])
    )
    with store.reading() as r:
        corpus = r.corpora.by_name(towns)
        expected = [
            {"text": s.text, "article": article.title, "section": [*sections[s.section].path], "article_number": number,
             "section_number": s.section, "paragraph": s.paragraph, "position": s.position, "start": s.start,
             "label": 1 if s.section == 2 else 0, "source": "machine", "coder": "sections", "probability": None,
             "mood": ["dull", "old", "long"][s.position],
             "label (column)": s.position + 1}
            for number, (article, sections, sentences) in enumerate(r.corpora.iterate(corpus.id)) for s in sentences
        ]  # fmt: skip
    assert rows == expected
    about = loaded(tmp_path / "towns", "articles")
    assert sorted(row["size"] for split in about.values() for row in split) == list(range(40))
    assert [section["title"] for section in about["train"][0]["sections"]] == ["", "Sights", "Rivers"]


def test_labels_of_the_newest_themes(store: Store, tmp_path: Path) -> None:
    add(store, "few", ARTICLES[:4])
    with pytest.raises(DataError, match="No themes"):
        do(store, "export-dataset", corpus="few", folder=str(tmp_path / "x"), themes=True)
    assert not (tmp_path / "x").exists() and not list(tmp_path.iterdir())
    do(store, "train", method="tfidf", name="counts", corpus="few")
    do(store, "find-themes", corpus="few", model="counts", settings={"k": 2})
    made = do(store, "export-dataset", corpus="few", themes=True)
    assert made["file"].endswith(".zip") and made["sentences"] == 12
    with pytest.raises(ConfigError, match="not from both"):
        do(store, "export-dataset", corpus="few", themes=True, labelling="by section")
    with pytest.raises(DataError, match="another project"):
        do(store, "export-dataset", corpus="few", labelling="by section")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(DataError, match="not an empty folder"):
        do(store, "export-dataset", corpus="few", folder=str(tmp_path / "full"))


# --- folders that others made -----------------------------------------------------------------------------------------


def read(folder: Path, **config: str) -> list[Article]:
    return list(REGISTRY.build(detect(folder), config).read(folder, SILENT))


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> Any:
    datasets = datasets_package()
    features = datasets.Features({"text": datasets.Value("string"), "topic": datasets.ClassLabel(names=["cat", "dog"])})
    rows = {"text": ["The cat sat.", "A dog ran.", "The cat slept."], "topic": [0, 1, None]}
    return datasets.Dataset.from_dict(rows, features=features)


def test_saved_datasets_are_read_with_names_of_classes_or_refused(claims: Any, tmp_path: Path) -> None:
    claims.save_to_disk(tmp_path / "claims")
    (article,) = read(tmp_path / "claims")
    assert (article.title, article.sentence_values) == ("claims", {"topic": ["cat", "dog", None], "row": [1, 2, 3]})
    assert preview(tmp_path / "claims").articles == (article,)
    (file,) = (tmp_path / "claims").glob("*.arrow")
    data = file.read_bytes()
    for cut in (0, 10, len(data) // 2, len(data) - 20):
        file.write_bytes(data[:cut])
        with pytest.raises(ReadError):
            read(tmp_path / "claims")


SAID = ["The bus is late today.", "Trains are full again.", "The ferry was cancelled."]
NESTED: dict[str, tuple[list[Any], str, list[str]]] = {
    "Translation": ([{"en": text, "de": f"Heute: {text}"} for text in SAID], "column.en", SAID),
    "nested": ([{"title": "x", "body": text} for text in SAID], "", SAID),
    "messages": (
        [[{"role": "user", "content": text}, {"role": "assistant", "content": f"Really? {text}"}] for text in SAID],
        "column.user", SAID,
    ),
    "conversations": ([[{"from": "human", "value": text}, {"from": "gpt", "value": "Y"}] for text in SAID], "", SAID),
    "tokens": ([text.split() for text in SAID], "", SAID),
    "words in Japanese": ([["電車", "が", "遅れ", "た。"]], "", ["電車が遅れた。"]),
    "sentences": ([[text, text] for text in SAID], "", []),
    "numbers": ([[101, 7], [102], []], "", []),
    "vectors": ([[0.5, 0.25], [0.125, 0.5]], "", []),
    "whole numbers": ([1, 2, 3], "", []),
    "answers": ([{"text": [text], "answer_start": [0]} for text in SAID], "", []),
}  # fmt: skip


@pytest.mark.parametrize("form", ["parquet", "json", "disk"])
@pytest.mark.parametrize("name", NESTED)
def test_values_of_several_parts_are_texts_of_their_own_or_refused(tmp_path: Path, name: str, form: str) -> None:
    values, text, expected = NESTED[name]
    column = "tokens" if name in ("tokens", "words in Japanese") else "column"
    made = datasets_package().Dataset.from_dict({column: values, "n": [*range(len(values))]})
    {"parquet": made.to_parquet, "json": made.to_json, "disk": made.save_to_disk}[form](tmp_path / f"a.{form}")
    path = tmp_path / f"a.{'jsonl' if form == 'json' else form}"
    (tmp_path / f"a.{form}").rename(path)
    if not expected:
        with pytest.raises(ReadError, match=r"is a list of texts or an object in most rows|has numbers"):
            [*REGISTRY.build("table", {}).read(path, SILENT)]
        return
    (article,) = REGISTRY.build("table", {"text": text} if text else {}).read(path, SILENT)
    assert [one.text for section in article.sections for one in section.paragraphs] == expected
    assert not any("{" in str(value) for values in article.sentence_values.values() for value in values)


def test_lists_of_classes_have_their_names(tmp_path: Path) -> None:
    datasets = datasets_package()
    kinds = datasets.Sequence(datasets.ClassLabel(names=["bus", "train"]))
    features = datasets.Features({"text": datasets.Value("string"), "kinds": kinds})
    rows = {"text": SAID, "kinds": [[0, 1], [1], []]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "a.parquet")
    (article,) = REGISTRY.build("table", {}).read(tmp_path / "a.parquet", SILENT)
    assert article.sentence_values["kinds"] == ['["bus", "train"]', '["train"]', None]


def test_splits_become_parts_and_a_column(claims: Any, store: Store, tmp_path: Path) -> None:
    datasets_package().DatasetDict({"train": claims, "test": claims, "extra": claims}).save_to_disk(tmp_path / "claims")
    found = read(tmp_path / "claims")
    assert [(a.title, a.part, a.values) for a in found] == [
        ("claims train", "train", {"split": "train"}), ("claims test", "test", {"split": "test"}),
        ("claims extra", "", {"split": "extra"}),
    ]  # fmt: skip
    do(store, "import-corpus", files=[str(tmp_path / "claims")], corpus="claims")
    with store.reading() as r:
        corpus = r.corpora.by_name("claims")
        types = {column.name: column.type for column in r.columns.list(corpus.id)}
    assert types["topic"] == ColumnType.CATEGORY


def test_repositories_with_and_without_a_card(claims: Any, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    (folder / "data").mkdir(parents=True)
    claims.to_parquet(str(folder / "data" / "train-00000-of-00001.parquet"))
    claims.to_parquet(str(folder / "data" / "validation.parquet"))
    assert list(dataset_files(folder)) == ["train", "validation"]
    configs = [
        {"config_name": "one", "data_files": [{"split": "half", "path": ["data/train-*.parquet"]}]},
        {"config_name": "two", "data_files": "data/val*.parquet", "default": True},
    ]
    (folder / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': configs})}---\n# Claims\n", "utf-8")
    assert list(dataset_files(folder)) == ["train"]
    assert list(dataset_files(folder, "one")) == ["half"]
    with pytest.raises(ReadError, match=r"no subset 'three'.*one, two"):
        dataset_files(folder, "three")
    assert [article.title for article in read(folder, subset="one", name="Claims")] == ["Claims"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        *(
            ("README.md", f"---\nconfigs:\n- data_files: {json.dumps(pattern)}\n---\n", "files elsewhere")
            for pattern in ("../s.parquet", "/etc/*.parquet", "hf://d/x/y.parquet", "https://x.org/y.csv")
        ),
        # Each ** visits all folders below each folder.
        ("README.md", f"---\nconfigs:\n- data_files: '{'**/*/' * 12}x.parquet'\n---\n", r"more than 3 times \*\*"),
        ("README.md", "---\nconfigs: [a: b: c]\n---\n", "not valid YAML"),
        ("README.md", "---\na: &a [x]\nconfigs: [*a]\n---\n", "YAML aliases"),
        ("README.md", "---\nconfigs:\n" + "- a\n" * 100_000 + "---\n", "more than 100,000 names"),
        ("README.md", "---\nconfigs:\n- config_name: x\n---\n", "no data files"),
        ("README.md", "---\nconfigs:\n- config_name: x\n- config_name: y\n---\n", "several subsets"),
        ("state.json", "{", "is not JSON"),
        ("state.json", '{"_data_files": [{"filename": "../x.arrow"}]}', "file elsewhere"),
        ("state.json", '{"_data_files": [{"filename": "x.arrow"}]}', "no such file"),
        ("dataset_dict.json", '{"splits": ["..", "a"]}', "file elsewhere"),
        ("dataset_dict.json", "[]", "no data files"),
    ],
)
def test_damaged_and_hostile_folders_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "unused.parquet" if name == "README.md" and "files" not in message else tmp_path / "unused.txt").touch()
    assert is_dataset(tmp_path)
    with pytest.raises(ReadError, match=message):
        read(tmp_path)


@pytest.mark.parametrize("change", ["order", "section", "orphans", "columns"])
def test_damaged_exports_are_refused(store: Store, towns: str, tmp_path: Path, change: str) -> None:
    do(store, "export-dataset", corpus=towns, folder=str(tmp_path / "towns"))
    file = next((tmp_path / "towns" / "sentences").glob("train-*"))
    table = pq.read_table(file)
    numbers = table["article_number"].to_pylist()
    changed = {
        "order": table.take(pa.array(range(len(numbers))[::-1])),
        "section": table.set_column(4, "section_number", pa.array([99] * len(numbers), pa.int32())),
        "orphans": table.set_column(3, "article_number", pa.array([n + 1_000 for n in numbers])),
        "columns": table.drop_columns(["position"]),
    }
    pq.write_table(changed[change], file)
    with pytest.raises(ReadError, match="Export it again"):
        read(tmp_path / "towns")


def test_a_column_start_of_an_older_export_stays_a_column(store: Store, towns: str, tmp_path: Path) -> None:
    do(store, "export-dataset", corpus=towns, folder=str(tmp_path / "towns"))
    for file in (tmp_path / "towns" / "sentences").glob("*.parquet"):
        table = pq.read_table(file)
        known = table.schema.metadata
        about = json.loads(known[METADATA])
        about["types"]["start"] = "category"
        table = table.drop_columns(["start"]).append_column("start", pa.array(["Monday"] * len(table)))
        pq.write_table(table.replace_schema_metadata({**known, METADATA: json.dumps(about).encode()}), file)
    for article in read(tmp_path / "towns"):
        assert article.sentence_values["start"] == ["Monday"] * article.sentence_count()
        assert all(set(p.starts) == {-1} for section in article.sections for p in section.paragraphs)


def test_other_folders_are_no_datasets(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("text", "utf-8")
    assert not is_dataset(tmp_path) and not is_dataset(tmp_path / "notes.txt")
    with pytest.raises(ReadError, match="folder"):
        detect(tmp_path)
