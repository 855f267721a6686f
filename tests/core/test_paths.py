from pathlib import Path

import pytest

from core.errors import ConfigError
from core.paths import expand_home, model_folder
from core.text.word_tables import load_word_vectors

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
