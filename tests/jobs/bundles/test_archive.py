"""The zip of a bundle and its labellings: what goes in comes out, and nothing else is believed."""

import copy
import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save
from scipy import sparse

from tests.core.labelling.test_labelling import IDS, Choose, LabellingSession, intentions, made
from themescope.core.errors import ReadError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, EntryChange, Kind, Step
from themescope.core.labelling.partition import Cluster, Entry, EntryKind, start
from themescope.core.types import Article, Paragraph, Section
from themescope.jobs.bundles import parts
from themescope.jobs.bundles.labellings import LabellingDocument, SentencePlace, from_lines, moved, to_lines
from themescope.jobs.bundles.parts import ARTICLES, BUNDLE, contents
from themescope.jobs.common import files
from themescope.jobs.common.files import MANIFEST, ArchiveReader, ArchiveWriter

TEXT = st.text(max_size=20)
SENTENCES = st.lists(st.tuples(TEXT, st.integers(-1, 99)), min_size=1, max_size=3).map(
    lambda found: Paragraph("", *zip(*found, strict=True))
)
SECTIONS = st.builds(
    Section, TEXT, st.integers(1, 6), st.lists(SENTENCES, max_size=3).map(tuple), st.lists(TEXT, max_size=2).map(tuple)
)
ARTICLE = st.builds(
    Article, TEXT, st.lists(SECTIONS, max_size=3).map(tuple), TEXT, TEXT, TEXT, st.sampled_from(("", "train", "test"))
)


def write(path: Path, parts: dict[str, bytes], about: dict[str, object] | None = None) -> Path:
    with ArchiveWriter(path, BUNDLE) as bundle:
        for name, data in parts.items():
            with bundle.part(name) as put:
                put(data)
        bundle.close(about or {"x": 1})
    return path


def raw(path: Path, entries: list[tuple[str, bytes]], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as file:
        for name, data in entries:
            file.writestr(name, data)
    return path


def manifest(parts: dict[str, bytes], **more: object) -> bytes:
    said = {n: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in parts.items()}
    facts = {"format": BUNDLE.id, "version": BUNDLE.version, "about": {}, "parts": said}
    return json.dumps(facts | more).encode()


@given(st.lists(ARTICLE, max_size=4))
def test_articles_come_back_as_they_went(found: list[Article]) -> None:
    lines = [parts.article_to_line(article).decode("ascii") for article in found]
    assert all(line.count("\n") == 1 for line in lines)
    assert list(parts.articles_from_lines(lines, Path("x"))) == found


@pytest.mark.parametrize(
    "starts", [[[0]], [[0, 4], [0]], [[0, 4], [0, 2], []], [[-2, 4], [0, 2]], [[0, 2**31], [0, 2]]]
)
def test_offsets_that_are_not_those_of_the_sentences_are_refused(starts: list[list[int]]) -> None:
    body = Section("A", 1, (Paragraph("", ("One.", "Two.")), Paragraph("", ("3.", "4."))))
    line = json.loads(parts.article_to_line(Article("A", (body,))))
    line["sections"][0]["starts"] = starts
    with pytest.raises(ReadError, match="not an article of a bundle"):
        list(parts.articles_from_lines([json.dumps(line)], Path("x")))


def test_parts_come_back_and_equal_content_has_equal_bytes(tmp_path: Path) -> None:
    parts = {ARTICLES: b"one\ntwo\n", "labellings/0000.jsonl": b"x" * 3_000_000, "models/00/model.json": b""}
    first, second = (write(tmp_path / name, parts) for name in ("a.zip", "b.zip"))
    assert first.read_bytes() == second.read_bytes()
    with ArchiveReader(first, BUNDLE) as bundle:
        bundle.check()
        assert bundle.about == {"x": 1}
        assert [*bundle.lines(ARTICLES)] == ["one\n", "two\n"]
        assert bundle.data("labellings/0000.jsonl") == parts["labellings/0000.jsonl"]
        assert bundle.named("models/00/") == ["models/00/model.json"]


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "/etc/passwd",
        "models/00/../../x.json",
        "models/00/x.pkl",
        "C:\\x",
        "extra.txt",
        "articles.jsonl/",
        "models/٠٠/model.json",
        "models/००/model.json",
    ],
)
def test_names_that_no_bundle_has_are_refused(tmp_path: Path, name: str) -> None:
    path = raw(
        tmp_path / "x.zip", [(ARTICLES, b""), (name, b"data"), (MANIFEST, manifest({ARTICLES: b"", name: b"data"}))]
    )
    with pytest.raises(ReadError, match="not a part of a bundle"):
        ArchiveReader(path, BUNDLE)
    with (
        pytest.raises(ReadError, match="cannot contain"),
        ArchiveWriter(tmp_path / "y.zip", BUNDLE) as bundle,
        bundle.part(name),
    ):
        pass


def test_what_was_changed_is_found(tmp_path: Path) -> None:
    parts = {ARTICLES: b"one\n"}
    changed = raw(tmp_path / "a.zip", [(ARTICLES, b"two\n"), (MANIFEST, manifest(parts))])
    with ArchiveReader(changed, BUNDLE) as bundle, pytest.raises(ReadError, match="changed after it was written"):
        bundle.check()
    for name, entries in {
        "more": [(ARTICLES, b"one\n"), ("labellings/0000.jsonl", b""), (MANIFEST, manifest(parts))],
        "less": [(MANIFEST, manifest(parts))],
        "size": [(ARTICLES, b"one\n\n"), (MANIFEST, manifest(parts))],
        "no articles": [(MANIFEST, manifest({}))],
    }.items():
        with pytest.raises(ReadError, match="do not match its manifest"):
            ArchiveReader(raw(tmp_path / f"{name}.zip", entries), BUNDLE)


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("no zip", encoding="utf-8")
    for name, said, entries in (
        ("none", "no manifest", [(ARTICLES, b"")]),
        ("json", "manifest is damaged", [(MANIFEST, b"{")]),
        ("list", "manifest is damaged", [(MANIFEST, b"[]")]),
        ("format", "manifest is damaged", [(MANIFEST, manifest({}, format="other"))]),
        ("newer", "newer version", [(MANIFEST, manifest({}, version=2))]),
    ):
        with pytest.raises(ReadError, match=said):
            ArchiveReader(raw(tmp_path / f"{name}.zip", entries), BUNDLE)
    for path, said in (("text.zip", "not a bundle"), ("nowhere.zip", "does not exist"), ("nul\0.zip", "not a bundle")):
        with pytest.raises(ReadError, match=said):
            ArchiveReader(tmp_path / path, BUNDLE)
    with pytest.raises(ReadError, match="compression is not supported"):
        ArchiveReader(raw(tmp_path / "bz2.zip", [(ARTICLES, b"x"), (MANIFEST, b"{}")], zipfile.ZIP_BZIP2), BUNDLE)


def test_a_zip_that_the_library_gives_up_on_is_refused(tmp_path: Path) -> None:
    good = raw(tmp_path / "good.zip", [(ARTICLES, b""), (MANIFEST, manifest({ARTICLES: b""}))]).read_bytes()
    entry = good.index(b"PK\x01\x02")
    changes = {"version": (6, b"\xff\x00"), "name": (46, b"\xff\xfe"), "length": (28, b"\xff\xff")}
    for name, (place, put) in changes.items():
        start = entry + place
        flags = good[: entry + 8] + b"\x00\x08" + good[entry + 10 :]  # names are said to be UTF-8
        (tmp_path / name).write_bytes(flags[:start] + put + flags[start + 2 :])
        with pytest.raises(ReadError):
            ArchiveReader(tmp_path / name, BUNDLE)


GOOD: dict[str, Any] = {
    "corpus": {"name": "a", "language": "en", "articles": 1, "sentences": 1, "digest": "x", "report": {"skipped": {}}},
    "labellings": [{"name": "a", "owner": "b"}],
    "models": [{"name": "a", "method": "b", "config": {}, "seed": 1, "digest": "x", "metrics": {}}],
}


def test_a_manifest_is_believed_only_where_it_makes_sense(tmp_path: Path) -> None:
    assert contents(GOOD, Path("x")).models[0].seed == 1
    for where, key, value in (
        ("corpus", "articles", float("inf")),
        ("corpus", "sentences", 2**70),
        ("corpus", "name", "\ud800"),
        ("corpus", "name", None),
        ("corpus", "report", {"skipped": 5}),
        ("corpus", "report", {"skipped": {"why": "x"}}),
        ("models", "seed", float("nan")),
        ("models", "config", 5),
        ("labellings", "owner", 5),
    ):
        damaged = json.loads(json.dumps(GOOD))
        (damaged[where] if where == "corpus" else damaged[where][0])[key] = value
        with pytest.raises(ReadError, match="manifest is damaged"):
            contents(damaged, Path("x"))
    endless = json.dumps({"format": BUNDLE.id, "version": 1, "about": {}, "parts": {ARTICLES: {"bytes": 1e999}}})
    with pytest.raises(ReadError, match="manifest is damaged"):
        ArchiveReader(raw(tmp_path / "a.zip", [(ARTICLES, b""), (MANIFEST, endless.encode())]), BUNDLE)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = {ARTICLES: b"0" * 11_000_000}
    path = raw(tmp_path / "bomb.zip", [*bomb.items(), (MANIFEST, manifest(bomb))])
    with pytest.raises(ReadError, match="too much"):
        ArchiveReader(path, BUNDLE)
    monkeypatch.setattr(files, "MOST_LINE", 10)
    long = write(tmp_path / "long.zip", {ARTICLES: b"x" * 11})
    with ArchiveReader(long, BUNDLE) as bundle, pytest.raises(ReadError, match="longer than"):
        [*bundle.lines(ARTICLES)]


@pytest.mark.parametrize("cut", [150, 400, -30])
def test_a_damaged_file_is_told(tmp_path: Path, cut: int) -> None:
    data = write(tmp_path / "a.zip", {ARTICLES: bytes(range(256)) * 100}).read_bytes()
    damaged = tmp_path / "b.zip"
    damaged.write_bytes(data[:cut] + b"\xff\xff\xff" + data[cut + 3 :] if cut > 0 else data[:cut])
    with pytest.raises(ReadError), ArchiveReader(damaged, BUNDLE) as bundle:
        bundle.check()


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"title": 1}', '{"title": "x", "url": "", "source": "", "topic": "", "part": "x"}']
)
def test_a_line_that_is_no_article_is_named(line: str) -> None:
    with pytest.raises(ReadError, match="line 1"):
        list(parts.articles_from_lines([line], Path("x.zip")))


def test_vectors_come_back() -> None:
    rng = np.random.default_rng(0)
    exact = [rng.normal(size=(n, 4)).astype(np.float16).astype(np.float32) for n in (2, 0, 3)]
    fine = [block + np.float32(1e-5) for block in exact]
    for blocks, kept in ((exact, "float16"), (fine, "float32")):
        assert parts.precision(blocks) == kept
        back = parts.vectors_from_bytes(parts.vectors_to_bytes(blocks), Path("x"))
        assert all(np.array_equal(a, b) for a, b in zip(blocks, back, strict=True))
    thin = [sparse.csr_array(np.where(block > 0.5, block, 0)) for block in fine]
    back = parts.vectors_from_bytes(parts.vectors_to_bytes(thin), Path("x"))
    assert all(np.array_equal(a.toarray(), b.toarray()) for a, b in zip(thin, back, strict=True))
    whole = np.zeros((2, 4), dtype=np.float32)
    counts = [np.array(rows) for rows in ([1.0, 1.0], [[1, 1]], [3, -1], [2**62, 2**62], [])]
    strange = [save({"rows": rows, "vectors": whole}) for rows in counts]
    strange.append(save({"rows": np.array([2]), "vectors": np.zeros(2)}))
    arrays = {"rows": [2], "values": [1.0], "columns": [9], "starts": [0, 1, 1], "dim": [4]}
    changes: list[dict[str, Any]] = [{}, {"dim": [np.inf], "columns": [0]}, {"dim": [-1]}, {"starts": []}]
    changes.append({"starts": [0, 9, 1]})
    for change in changes:
        strange.append(save({name: np.array(value) for name, value in {**arrays, **change}.items()}))
    for damaged in (b"", b"\x80\x04N.", parts.vectors_to_bytes(exact)[:-3], *strange):
        with pytest.raises(ReadError, match="damaged"):
            parts.vectors_from_bytes(damaged, Path("x"))


# --- the document of a labelling --------------------------------------------------------------------------------------

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ABOUT = {"name": "a", "owner": "ada", "kind": "own", "blind": False, "origin": {"from": "nothing"}, "corpus": "c"}
LEFT_OUT = object()
STRANGE = [None, -7, 2**70, 1.5, float("inf"), "x", "2020-01-01T00:00:00", [], {}, [1], [None, None], LEFT_OUT]
FREE = {("about", "corpus"), ("about", "origin", "from")}
"""What nobody relies on."""


def document() -> LabellingDocument:
    first = start([3, 5, 7], [0, 1, -1], [Cluster(0, "A", 0), Cluster(1, "B", 1, 0)])
    first = replace(first, entries={(EntryKind.CODE, "1"): Entry({"definition": "x"}, (3,), (1,))})
    change_sets = [op.assign(first, np.array([7]), 1).change_set, op.note(first, np.array([3]), "why").change_set]
    change_sets += [op.mark(first, np.array([5]), True).change_set, op.create(first, 2, "C", np.array([3])).change_set]
    old = first.entries[EntryKind.CODE, "1"]
    change_sets.insert(2, ChangeSet((EntryChange(EntryKind.CODE, "1", old, replace(old, sentences=(5, 7))),)))
    log: list[tuple[Step, ChangeSet]] = []
    for id, change_set in enumerate(change_sets, 1):
        log.append((Step(id, Kind.DO, "x", "said", "ada", NOW, None, "", "", 1), change_set))
    log.append((Step(9, Kind.UNDO, "x", "said", "ben", NOW, 5, "", "", 1), change_sets[-1].inverse()))
    places = {id: SentencePlace("article", id, f"text {id}") for id in (3, 5, 7)}
    return LabellingDocument(ABOUT, first, tuple(log), places)


def walk(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from walk(value[key], (*path, key))


def put(entry: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(entry)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if value is LEFT_OUT:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


def test_it_comes_back() -> None:
    lines = list(to_lines(document()))
    assert list(to_lines(from_lines(lines))) == lines


@pytest.mark.parametrize("number", range(13))
def test_what_was_put_there_by_another_hand_is_refused(number: int) -> None:
    lines = list(to_lines(document()))
    assert len(lines) == 13
    entry, refused = json.loads(lines[number]), 0
    for path in walk(entry):
        for value in STRANGE if path else [x for x in STRANGE if x is not LEFT_OUT]:
            changed = put(entry, path, value)
            if changed == entry:
                continue
            try:
                found = from_lines([*lines[:number], json.dumps(changed) + "\n", *lines[number + 1 :]])
            except ReadError:
                refused += 1
                continue
            # Texts, numbers and times may be others; then all of it is a labelling that can be written and read.
            assert path in FREE or type(value) in (str, int) or value in ({}, []), (path, value)
            written = list(to_lines(found))
            assert list(to_lines(from_lines(written))) == written
    assert refused


def test_lines_that_no_labelling_has() -> None:
    lines = list(to_lines(document()))
    for damaged in (
        [lines[0], "[" * 100_000 + "\n", *lines[1:]],
        [*lines[:4], lines[3], *lines[4:]],
        [*lines[:5], lines[4], *lines[5:]],
        [*lines[:1], *lines[2:]],
        [*lines, lines[-1]],
        [*lines[:3], "{}\n", *lines[3:]],
        [*lines[:-1], lines[-1][:40]],
        lines[1:],
        lines[:-1],
        [],
    ):
        with pytest.raises(ReadError):
            from_lines(damaged)


def test_a_file_in_another_encoding_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"format": "themescope labelling", "\xff\xfe"}\n')
    with path.open(encoding="utf-8") as lines, pytest.raises(ReadError, match="not text in UTF-8"):
        from_lines(lines, path)


SHIFT = {int(id): 1_000 - int(id) for id in IDS}
BACK = {there: here for here, there in SHIFT.items()}


@settings(max_examples=60)
@given(st.lists(st.one_of(intentions, st.just("undo")), max_size=10))
def test_any_history_comes_back_from_a_file_and_from_another_store(actions: list[Choose | str]) -> None:
    labelling = LabellingSession(made())
    labelling.act(actions)
    places = {int(id): SentencePlace("article", int(id), f"text {id}") for id in IDS}
    log = tuple(zip(labelling.steps, labelling.change_sets, strict=True))
    document = LabellingDocument(ABOUT, made(), log, places)
    lines = list(to_lines(document))
    again = from_lines(lines)
    assert list(to_lines(again)) == lines
    assert again.end().to_bytes() == labelling.state.to_bytes()
    elsewhere = moved(again, SHIFT)  # the same sentences in another store, in the opposite order
    assert moved(elsewhere, BACK).end().to_bytes() == labelling.state.to_bytes()
