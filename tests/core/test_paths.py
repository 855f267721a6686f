from pathlib import Path

import pytest

from themescope.core.errors import ConfigError
from themescope.core.paths import default_model, expand_home, lacks_packages, model_folder
from themescope.core.text.word_vectors import load_word_vectors

NOBODY = "~nobody-of-that-name/vectors.txt"


def test_a_tilde_is_the_home_folder(monkeypatch, tmp_path):
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    assert expand_home("~/x") == tmp_path / "x"
    assert expand_home("a/~b") == Path("a/~b") and expand_home(Path("/c")) == Path("/c")


@pytest.mark.parametrize("read", [expand_home, load_word_vectors, model_folder])
def test_the_home_of_nobody_is_told_with_the_path(read):
    said = f"There is no home folder '~nobody-of-that-name', needed for {str(Path(NOBODY))!r}. Write the path in"
    with pytest.raises(ConfigError) as refused:
        read(NOBODY)
    assert str(refused.value).startswith(said)


def test_so_is_that_of_an_encoder():
    with pytest.raises(ConfigError, match="There is no home folder '~nobody-of-that-name'"):
        load_word_vectors(f"distilled:{NOBODY}")


@pytest.mark.parametrize(
    ("installed", "files", "best"),
    [
        (True, ("thematic-wikipedia-2", "static-wikipedia", "triplets-sen-titles-wikipedia"), "thematic-wikipedia-2"),
        (False, ("thematic-wikipedia-2", "static-wikipedia", "triplets-sen-titles-wikipedia"), "static-wikipedia"),
        (True, ("other", "triplets-sen-titles-wikipedia"), "triplets-sen-titles-wikipedia"),
    ],
)
def test_the_default_is_the_best_model_whose_files_and_packages_are_there(
    installed, files, best, tmp_path, monkeypatch
):
    monkeypatch.setattr("themescope.core.paths.DATA", tmp_path)
    monkeypatch.setattr("themescope.core.paths.find_spec", lambda package: object() if installed else None)
    for name in files:
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "model.json").touch()
    assert default_model() == best and model_folder("default").name == best
    for name in ("thematic-wikipedia-2", "thematic-wikipedia-2-in-context", "thematic-wikipedia-large"):
        assert lacks_packages(name) is not installed
    assert not lacks_packages("other")
