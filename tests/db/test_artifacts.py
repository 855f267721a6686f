import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from themescope.core.errors import ArtifactError
from themescope.db.files.artifacts import Artifacts


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

    def test_two_at_once(self, artifacts: Artifacts) -> None:
        with ThreadPoolExecutor(4) as pool:
            digests = set(pool.map(lambda _: artifacts.put(writer(model="x" * 100_000)), range(8)))
        (digest,) = digests
        artifacts.check(digest)


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


def test_only_the_old_and_unused_and_leftovers_of_killed_processes_are_swept(
    artifacts: Artifacts, tmp_path: Path
) -> None:
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
