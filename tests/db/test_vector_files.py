import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.db.test_results import add_model
from tests.db.texts import add_corpus
from themescope.core.errors import ArtifactError, DataError, StoreError, with_place
from themescope.db.files.artifacts import Artifacts, Folder, LocalFolder, open_folder
from themescope.db.files.vector_files import VectorFiles, problems_of
from themescope.db.records import VectorBlock
from themescope.db.settings import Settings
from themescope.db.store import Store

_BUCKETS = count()


@pytest.fixture
def s3_url(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder in a bucket of its own; the environment has the account."""
    import fsspec

    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    bucket = f"vectors-{next(_BUCKETS)}"
    fsspec.filesystem("s3").mkdir(bucket)
    return f"s3://{bucket}/folder"


@pytest.fixture(params=["local", "s3"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> VectorFiles:
    url = "" if request.param == "local" else request.getfixturevalue("s3_url")
    return VectorFiles(open_folder(url, tmp_path))


def blocks_of(sizes: list[int], dim: int, seed: int, csr: bool) -> list[VectorBlock]:
    rng = np.random.default_rng(seed)
    made: list[Any] = []
    for rows in sizes:
        dense = rng.normal(size=(rows, dim)).astype(np.float32)
        made.append(sparse.csr_array(dense * (dense > 1)) if csr else dense)
    return [VectorBlock(10 + i, x) for i, x in enumerate(made)]


def same(a: Any, b: Any) -> bool:
    dense = [x.toarray() if sparse.issparse(x) else x for x in (a, b)]
    return a.dtype == b.dtype and np.array_equal(*dense)


class TestRoundTrip:
    @given(
        st.lists(st.integers(0, 9), min_size=1, max_size=12),
        st.integers(1, 7),
        st.booleans(),
        st.sampled_from(["float16", "float32"]),
        st.integers(1, 12),
        st.randoms(use_true_random=False),
    )
    def test_what_is_written_is_read(
        self, tmp_path: Path, sizes: list[int], dim: int, csr: bool, dtype: str, per_file: int, random: Any
    ) -> None:
        """For any number of articles per file, any order of reading, and empty articles."""
        files = VectorFiles(LocalFolder(tmp_path))
        blocks = blocks_of(sizes, dim, 0, csr)
        for start in range(0, len(blocks), per_file):
            part = blocks[start : start + per_file]
            file = files.put(part, dtype)
            wanted = random.sample(part, len(part))
            read = files.get(file.digest, [file.spans[block.article_id] for block in wanted])
            for block, got in zip(wanted, read, strict=True):
                x: Any = block.vectors
                rounded = (x.toarray() if csr else x).astype(dtype).astype(np.float32)
                assert sparse.issparse(got) == csr and got.shape == x.shape and same(got, rounded)

    def test_on_both_kinds_of_folder_the_name_is_the_content(self, files: VectorFiles) -> None:
        digests = set()
        for csr in (False, True):
            blocks = blocks_of([3, 0, 5, 2], 6, 1, csr)
            file = files.put(blocks, "float32")
            assert files.put(blocks, "float32") == file
            digests.add(file.digest)
            spans = [file.spans[i] for i in (13, 10, 11)]
            for block, got in zip((blocks[3], blocks[0], blocks[1]), files.get(file.digest, spans), strict=True):
                assert same(got, block.vectors)
            files.check(file.digest)
            assert problems_of(files, {file.digest: file.size}, content=True) == []
        assert len(digests) == 2 and files.unused([]) == sorted(digests)
        file = files.put(blocks_of([4], 3, 2, False))
        files.get(file.digest, [(0, 4)])[0][:] = 0  # what is read can be changed
        assert files.get(file.digest, [(0, 4)])[0].any()

    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
    def test_what_cannot_be_kept_is_refused(self, tmp_path: Path, value: float) -> None:
        files = VectorFiles(LocalFolder(tmp_path / "v"))
        with pytest.raises(DataError, match="article 1 has a value that is not finite as float16"):
            files.put([VectorBlock(1, np.full((2, 2), value, np.float64))])
        with pytest.raises(DataError, match="float16 or float32, not 'int8'"):
            files.put([VectorBlock(1, np.zeros((2, 2)))], "int8")
        with pytest.raises(DataError, match="one dimension"):
            files.put([VectorBlock(1, np.zeros((2, 2))), VectorBlock(2, np.zeros((2, 3)))])
        assert not (tmp_path / "v").exists()


class TestTrouble:
    """Every message names the file."""

    def name(self, folder: Folder, digest: str) -> str:
        return re.escape(folder.where(f"{digest}.safetensors"))

    def test_missing_rows_and_a_missing_file(self, files: VectorFiles) -> None:
        for csr in (True, False):
            file = files.put(blocks_of([4], 3, 0, csr))
            with pytest.raises(ArtifactError, match=f"{self.name(files.folder, file.digest)} .* only 4 vectors"):
                files.get(file.digest, [(2, 3)])
        files.get(file.digest, [(0, 4)])
        files.folder.remove(f"{file.digest}.safetensors")
        files.folder.remove(f"{file.digest}.safetensors")
        missing = f"{self.name(files.folder, file.digest)} is missing. Restore the file"
        for read in (lambda: files.get(file.digest, [(0, 4)]), lambda: files.check(file.digest)):
            with pytest.raises(ArtifactError, match=missing):
                read()
        (problem,) = problems_of(files, {file.digest: file.size})
        assert re.search(missing, problem)

    @pytest.mark.parametrize("seen_before", [False, True])
    @pytest.mark.parametrize("csr", [False, True])
    def test_a_file_that_was_cut(self, tmp_path: Path, seen_before: bool, csr: bool) -> None:
        files = VectorFiles(LocalFolder(tmp_path))
        file = files.put(blocks_of([40], 30, 0, csr))
        path = tmp_path / f"{file.digest}.safetensors"
        if seen_before:
            files.get(file.digest, [(0, 40)])
        for size in (file.size - 1, 200, 5, 0):
            os.truncate(path, size)
            with pytest.raises(ArtifactError, match=f"{re.escape(str(path))} is damaged"):
                files.get(file.digest, [(0, 40)])

    @given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
    def test_a_flipped_bit_is_found(self, tmp_path: Path, place: int, bit: int) -> None:
        files = VectorFiles(LocalFolder(tmp_path))
        file = files.put(blocks_of([20], 8, 0, False))
        path = tmp_path / f"{file.digest}.safetensors"
        data = bytearray(path.read_bytes())
        data[place % len(data)] ^= 1 << bit
        try:
            path.write_bytes(data)
            with pytest.raises(ArtifactError, match=f"{re.escape(str(path))} is damaged: its content"):
                files.check(file.digest)
        finally:
            path.unlink()

    @given(st.binary(max_size=200))
    def test_a_header_that_is_none(self, tmp_path: Path, header: bytes) -> None:
        files = VectorFiles(LocalFolder(tmp_path))
        digest = f"{abs(hash(header)):032x}"[:32]
        (tmp_path / f"{digest}.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
        with pytest.raises(ArtifactError, match="its header cannot be read"):
            files.get(digest, [(0, 1)])

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "vectors").write_text("a file")
        with pytest.raises(StoreError, match="cannot be written"):
            VectorFiles(LocalFolder(tmp_path / "vectors")).put(blocks_of([4], 3, 0, False))

    def test_a_server_that_does_not_answer(self, s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import s3fs

        files = VectorFiles(open_folder("s3://nobody-made-this-bucket/x", tmp_path))
        with pytest.raises((StoreError, ArtifactError)) as refused:
            files.put(blocks_of([4], 3, 0, False))
        assert "s3://nobody-made-this-bucket/x" in with_place(refused.value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        s3fs.S3FileSystem.clear_instance_cache()
        try:
            with pytest.raises(StoreError, match=r"cannot be reached. Check VECTORS_URL") as caught:
                VectorFiles(open_folder("s3://v/x", tmp_path)).put(blocks_of([4], 3, 0, False))
            assert "s3://v/x/" in with_place(caught.value) and "s3:" not in str(caught.value)
        finally:
            s3fs.S3FileSystem.clear_instance_cache()


class TestCleanup:
    def test_only_old_unused_files_go(self, tmp_path: Path) -> None:
        files = VectorFiles(LocalFolder(tmp_path))
        used, old, recent, again = (files.put(blocks_of([4], 3, seed, False)).digest for seed in range(4))
        partial, note = tmp_path / "partial-abc", tmp_path / "note.txt"
        for path in (partial, note):
            path.write_text("x")
        for path in (*(tmp_path / f"{digest}.safetensors" for digest in (used, old, again)), partial, note):
            os.utime(path, (time.time() - 200_000,) * 2)
        files.put(blocks_of([4], 3, 3, False))  # which makes the last one recent
        assert files.remove_unused([used]) == [old]
        left = {f"{digest}.safetensors" for digest in (used, recent, again)}
        assert {p.name for p in tmp_path.iterdir()} == {*left, "note.txt"}

    def test_on_a_server_with_copies_here(self, s3_url: str, tmp_path: Path) -> None:
        files = VectorFiles(open_folder(s3_url, tmp_path))
        assert files.unused([]) == []
        used, unused = (files.put(blocks_of([4], 3, seed, False)).digest for seed in range(2))
        assert files.remove_unused([used]) == []
        assert files.remove_unused([used], older_than_s=-10) == [unused]
        assert files.unused([]) == [used]
        files.folder.write("a", b"one")
        copy = files.folder.local("a")
        assert copy.read_bytes() == b"one" and files.folder.local("a") == copy and copy.is_relative_to(tmp_path)
        with pytest.raises(ArtifactError, match=f"{re.escape(s3_url)}/b is missing"):
            files.folder.local("b")


class TestInTheStore:
    @pytest.fixture
    def filled(self, store: Store) -> Iterator[tuple[Store, int, dict[int, Any]]]:
        """A model with vectors of article 1 in the database, and of articles 2 and 3 in a file."""
        add_corpus(store, articles=3)
        model = add_model(store)
        blocks = [VectorBlock(i, b.vectors) for i, b in enumerate(blocks_of([4, 2, 3], 5, 0, False), 1)]
        file = store.vector_files.put(blocks[1:], "float32")
        with store.writing() as w:
            w.embeddings.add(model.id, blocks[:1], "float32")
            w.embeddings.add_file(model.id, file)
        yield store, model.id, {b.article_id: b.vectors for b in blocks}

    def test_readers_see_no_difference_until_a_file_is_missing(self, filled: tuple[Store, int, dict[int, Any]]) -> None:
        store, model, vectors = filled
        with store.reading() as r:
            got = r.embeddings.get(model, [3, 1, 2, 99])
            assert r.embeddings.have(model, r.corpora.list()[0].id) == {1, 2, 3}
            assert len(r.embeddings.files()) == 1
        assert got.keys() == vectors.keys() and all(same(got[i], vectors[i]) for i in got)
        (path,) = (store.settings.home / "vectors").iterdir()
        path.unlink()
        with store.reading() as r:
            assert r.embeddings.get(model, [1]).keys() == {1}
            with pytest.raises(ArtifactError, match=re.escape(str(path))):
                r.embeddings.get(model, [1, 2])

    def test_replacing_and_deleting(self, filled: tuple[Store, int, dict[int, Any]]) -> None:
        store, model, vectors = filled
        again = store.vector_files.put([VectorBlock(1, vectors[2]), VectorBlock(2, vectors[1])], "float32")
        with store.writing() as w:
            w.embeddings.add_file(model, again)
            w.embeddings.add_file(model, again)
            w.embeddings.add(model, [VectorBlock(3, vectors[3])])
        with store.reading() as r:
            got = r.embeddings.get(model, [1, 2, 3])
            assert same(got[1], vectors[2]) and same(got[2], vectors[1])
        folder = store.settings.home / "vectors"
        for path in folder.iterdir():
            os.utime(path, (0, 0))
        assert len(store.remove_unused_vector_files()) == 1
        assert [p.stem for p in folder.iterdir()] == [again.digest]
        with store.writing() as w:
            w.embeddings.delete(model)
        assert store.remove_unused_vector_files() == [again.digest] and not list(folder.iterdir())

    @pytest.mark.parametrize("what", ["model", "corpus"])
    def test_files_go_with_their_model_or_corpus(self, filled: tuple[Store, int, dict[int, Any]], what: str) -> None:
        store, model, _ = filled
        for path in (store.settings.home / "vectors").iterdir():
            os.utime(path, (0, 0))
        assert store.remove_unused_vector_files() == []
        with store.writing() as w:
            w.models.delete(model) if what == "model" else w.corpora.delete(w.corpora.list()[0].id)
        assert len(store.remove_unused_vector_files()) == 1

    def test_a_transaction_that_fails_leaves_a_file_to_remove(self, store: Store) -> None:
        add_corpus(store)
        (block,) = blocks_of([2], 3, 0, False)
        file = store.vector_files.put([VectorBlock(1, block.vectors)])
        with pytest.raises(ZeroDivisionError), store.writing() as w:
            model = w.models.add(name="m", method="x", config={}, seed=0, digest="d", artifact="a")
            w.embeddings.add_file(model.id, file)
            raise ZeroDivisionError
        assert store.vector_files.unused([]) == [file.digest]
        with store.reading() as r:
            assert r.embeddings.files() == {}

    def test_a_store_with_its_files_on_a_server(self, sqlite_store: Store, s3_url: str) -> None:
        store = Store(replace(sqlite_store.settings, vectors_url=s3_url))
        add_corpus(store)
        model = add_model(store)
        (block,) = blocks_of([3], 4, 0, False)
        file = store.vector_files.put([VectorBlock(1, block.vectors)], "float32")
        with store.writing() as w:
            w.embeddings.add_file(model.id, file)
        with store.reading() as r:
            assert same(r.embeddings.get(model.id, [1])[1], block.vectors)
        assert not (store.settings.home / "vectors").exists()
        store.close()


def test_the_folder_may_be_a_url(tmp_path: Path) -> None:
    folder = open_folder((tmp_path / "a folder").as_uri().replace("%20", " "), tmp_path)
    folder.write("a", b"x")
    assert (tmp_path / "a folder" / "a").read_bytes() == b"x"
    assert open_folder("", tmp_path) == LocalFolder(tmp_path / "vectors")
    assert Settings.in_folder(tmp_path).vectors_url == ""


# --- artifacts --------------------------------------------------------------------------------------------------------


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(tmp_path / "home")


def writer(**files: str):
    def write(folder: Path) -> None:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")

    return write


class TestPut:
    def test_a_digest_names_the_content(self, artifacts: Artifacts) -> None:
        digest = artifacts.put(writer(model="x", words="a\nb"))
        assert re.fullmatch("[0-9a-f]{32}", digest)
        assert (artifacts.path(digest) / "words").read_text(encoding="utf-8") == "a\nb"
        assert artifacts.put(writer(words="a\nb", model="x")) == digest
        others = [writer(model="x", words="a\nc"), writer(model="x", word="a\nb"), writer(model="xa", words="\nb")]
        with ThreadPoolExecutor(4) as pool:
            assert {*pool.map(lambda _: artifacts.put(writer(words="a\nb", model="x")), range(8))} == {digest}
        artifacts.check(digest)
        nested = artifacts.put(writer(**{"parts/one": "1"}))
        assert (artifacts.path(nested) / "parts" / "one").is_file()
        assert len({digest, nested, *(artifacts.put(other) for other in others)}) == 5

    def test_nothing_is_seen_of_an_unfinished_write(self, artifacts: Artifacts, tmp_path: Path) -> None:
        def fail(folder: Path) -> None:
            (folder / "model").write_text("half")
            assert not [p for p in folder.parent.iterdir() if re.fullmatch("[0-9a-f]{32}", p.name)]
            raise RuntimeError("power cut")

        with pytest.raises(RuntimeError, match="power cut"):
            artifacts.put(fail)
        assert list((tmp_path / "home" / "artifacts").iterdir()) == []

    def test_nothing_and_links_are_refused(self, artifacts: Artifacts) -> None:
        def link(folder: Path) -> None:
            try:
                (folder / "model").symlink_to(folder.parent)
            except OSError:
                pytest.skip("This system lets us make no links.")

        with pytest.raises(ArtifactError, match="Nothing was written"):
            artifacts.put(lambda folder: None)
        with pytest.raises(ArtifactError, match="must not contain links"):
            artifacts.put(link)


class TestPath:
    @pytest.mark.parametrize(
        "digest", ["", "..", "../..", "a/b", "A" * 32, "0" * 31, "0" * 33, "0" * 32 + "\n", "/etc"]
    )
    def test_what_is_no_digest_is_refused(self, artifacts: Artifacts, digest: str) -> None:
        artifacts.put(writer(model="x"))
        with pytest.raises(ArtifactError, match="is not the digest of an artifact"):
            artifacts.path(digest)
        artifacts.delete(digest)

    def test_missing_and_damaged_files_are_told(self, artifacts: Artifacts) -> None:
        with pytest.raises(ArtifactError, match="are missing"):
            artifacts.path("0" * 32)
        digest = artifacts.put(writer(model="x"))
        artifacts.check(digest)
        (artifacts.path(digest) / "model").write_text("y")
        with pytest.raises(ArtifactError, match="changed or damaged"):
            artifacts.check(digest)


def test_the_old_and_unused_and_leftovers_of_killed_processes_are_swept(artifacts: Artifacts, tmp_path: Path) -> None:
    used, unused, again, young = (artifacts.put(writer(model=text)) for text in "abcd")
    partial = [tmp_path / "home" / "artifacts" / f"partial-{name}" for name in ("old", "young")]
    for folder in partial:
        folder.mkdir()
    for path in (*map(artifacts.path, (used, unused, again)), partial[0]):
        os.utime(path, (time.time() - 200_000,) * 2)
    artifacts.put(writer(model="c"))  # which makes it young
    assert artifacts.remove_unused({used}) == [unused]
    assert artifacts.path(used) and artifacts.path(again) and artifacts.path(young)
    assert [folder.exists() for folder in partial] == [False, True]


def test_a_job_has_one_folder_of_checkpoints(artifacts: Artifacts) -> None:
    folder = artifacts.checkpoint_folder(7)
    (folder / "state").write_text("x")
    assert artifacts.checkpoint_folder(7) == folder and artifacts.checkpoint_folder(8) != folder
    artifacts.drop_checkpoint(7)
    artifacts.drop_checkpoint(7)
    assert not folder.exists()
