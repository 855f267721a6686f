import pickle
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import ConfigError, ReadError, UnknownNameError
from themescope.core.paths import default_model, expand_home, lacks_packages, model_folder
from themescope.core.text.word_vectors import load_word_vectors
from themescope.core.types import Split, split_of_title, title_bucket


@given(st.text())
def test_split_ignores_unicode_form_and_underscores(title):
    assert title_bucket(unicodedata.normalize("NFD", title)) == title_bucket(unicodedata.normalize("NFC", title))
    assert title_bucket(title.replace(" ", "_")) == title_bucket(title)


def test_buckets_of_known_titles_never_change_and_shares_are_eighty_ten_ten():
    """Published splits depend on these numbers; they were computed with coreutils' ``b2sum -l 64``."""
    assert [title_bucket(t) for t in ("Adelaide", "Black Market", "Café")] == [608, 893, 31]
    assert 0 <= title_bucket("\ud800") < 1_000
    counts = Counter(split_of_title(f"Article {i}") for i in range(20_000))
    assert abs(counts[Split.TRAIN] / 20_000 - 0.8) < 0.01
    assert abs(counts[Split.VALIDATION] / 20_000 - 0.1) < 0.01


@pytest.mark.parametrize(
    "error",
    [
        ReadError("a.xml", "its title is wrong.", f"page {'y' * 10_000!r}", "Correct it."),
        UnknownNameError("method", "x" * 10_000, ["tfidf"]),
        ConfigError("a" * 10_000),
    ],
)
def test_a_long_message_loses_its_middle(error):
    text = str(error)
    assert len(text) < 1_600 and " … " in text
    assert str(pickle.loads(pickle.dumps(error))) == text


def test_only_the_middle_of_a_long_message_is_left_out():
    error = ReadError("a.xml", "there are: " + "x" * 10_000 + ".", "line 1", "Correct it.")
    assert str(error).startswith("a.xml, line 1: there are: xxx") and str(error).endswith("xxx. Correct it.")
    assert str(ConfigError("a" * 1_500)) == "a" * 1_500


NOBODY = "~nobody-of-that-name/vectors.txt"


def test_a_tilde_is_the_home_folder_also_of_an_encoder(monkeypatch, tmp_path):
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    assert expand_home("~/x") == tmp_path / "x"
    assert expand_home("a/~b") == Path("a/~b") and expand_home(Path("/c")) == Path("/c")
    with pytest.raises(ConfigError, match="There is no home folder '~nobody-of-that-name'"):
        load_word_vectors(f"distilled:{NOBODY}")


@pytest.mark.parametrize("read", [expand_home, load_word_vectors, model_folder])
def test_the_home_of_nobody_is_told_with_the_path(read):
    said = f"There is no home folder '~nobody-of-that-name', needed for {str(Path(NOBODY))!r}. Write the path in"
    with pytest.raises(ConfigError) as refused:
        read(NOBODY)
    assert str(refused.value).startswith(said)


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
