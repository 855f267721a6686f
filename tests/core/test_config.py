import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.config import Config, OptionInfo, config_from_dict, digest_of, label_of, option, parse_value
from themescope.core.errors import ConfigError


@dataclass(frozen=True)
class Kettle(Config):
    litres: float = option(1.0, "How much it holds.", low=0.1, high=5, unit="l", label="capacity")
    cups: int = option(4, "How many cups.", low=1)
    colour: str = option("red", "What it looks like.", choices=("red", "blue"))
    limit: int | None = option(None, "At most this many, or no limit.", low=1)
    names: tuple[str, ...] = option((), "Who drinks.")
    loud: bool = option(False, "Whether it whistles.")
    tea: Mapping[str, Any] = option({}, "Settings of the tea.")

    def validate(self) -> None:
        if self.loud and self.colour == "blue":
            raise ConfigError("A blue kettle cannot whistle.")


kettles = st.builds(
    Kettle,
    litres=st.floats(0.1, 5),
    cups=st.integers(1, 100),
    colour=st.just("red"),
    limit=st.none() | st.integers(1, 9),
    names=st.lists(st.text(), max_size=3).map(tuple),
    loud=st.booleans(),
    tea=st.dictionaries(st.text(max_size=3), st.integers() | st.lists(st.integers(), max_size=2), max_size=2),
)


@given(kettles)
def test_survives_json(kettle):
    again = config_from_dict(Kettle, json.loads(json.dumps(kettle.to_dict())))
    assert again == kettle
    assert again.digest() == kettle.digest()


def test_settings_that_only_say_how_a_result_is_computed_do_not_identify_it():
    @dataclass(frozen=True)
    class Work(Config):
        amount: int = option(1, "How much.")
        workers: int = option(1, "How many share it.", affects_result=False)

    assert Work(workers=3).result_settings() == {"amount": 1}
    assert Work(workers=3).digest() == Work().digest() != Work(amount=2).digest()
    assert Work(workers=3).to_dict() == {"amount": 1, "workers": 3}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"litre": 2}, "There is no setting called 'litre'. Did you mean 'litres'"),
        ({"litres": 9}, "Capacity (litres) must be at most 5, not 9"),
        ({"litres": float("nan")}, "must be a finite number"),
        ({"cups": 0}, "Cups must be at least 1"),
        ({"cups": 1.5}, "must be a whole number, not 1.5"),
        ({"cups": True}, "must be a whole number, not True"),
        ({"cups": "many"}, "must be a whole number, not 'many'"),
        ({"colour": "green"}, "must be one of red, blue, not 'green'"),
        ({"limit": 0}, "must be at least 1"),
        ({"names": "Ann"}, "must be a list"),
        ({"loud": 1}, "must be true or false"),
        ({"tea": "green"}, "Tea must be a mapping such as {\"name\": value}, not 'green'"),
        ({"loud": True, "colour": "blue"}, "A blue kettle cannot whistle."),
    ],
)
def test_refuses_nonsense_with_a_sentence(settings, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        config_from_dict(Kettle, settings)


def test_no_mapping_and_an_unknown_name_are_refused():
    with pytest.raises(ConfigError, match="Settings are names with values"):
        config_from_dict(Kettle, "litres")
    with pytest.raises(ConfigError, match="Did you mean 'colour'"):
        parse_value(Kettle, "color", "red")


@dataclass(frozen=True)
class Cupboard(Config):
    pass


@pytest.mark.parametrize("cls", [Kettle, Cupboard])
def test_no_sentence_names_a_class(cls):
    with pytest.raises(ConfigError) as refused:
        config_from_dict(cls, {"door": 1})
    assert cls.__name__ not in str(refused.value) and "no setting called 'door'" in str(refused.value)


def test_a_setting_is_called_as_its_widget_and_as_set_calls_it():
    kettle = Kettle()
    assert kettle.named("litres") == "Capacity (litres)" and kettle.named("cups") == "Cups"
    assert label_of("min_word_dim", OptionInfo("")) == "Minimum word dimensions"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("litres", "2.5", 2.5),
        ("cups", "3", 3),
        ("limit", "null", None),
        ("names", "Ann, Bob", ["Ann", "Bob"]),
        ("names", '["Ann"]', ["Ann"]),
        ("loud", "true", True),
        ("colour", "12", "12"),
    ],
)
def test_command_line_values(name, text, value):
    assert parse_value(Kettle, name, text) == value


@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_digest_ignores_key_order(value):
    assert digest_of(value) == digest_of(dict(reversed(list(value.items()))))


@dataclass(frozen=True)
class Recipe(Config):
    book: str = option("plain", "A book's id, a file, or shelf:FOLDER.", file=True)
    note: str = option("a/b", "Anything.")


@pytest.mark.parametrize(
    ("book", "kept"),
    [
        ("plain", "plain"),
        ("/home/somebody/books/soup.txt", "soup.txt"),
        (r"C:\Users\somebody\soup.txt", "soup.txt"),
        ("shelf:/home/somebody/soups", "shelf:soups"),
        (r"shelf:C:\somebody\soups", "shelf:soups"),
        ("shelf:soups/", "shelf:soups"),
    ],
)
def test_what_is_handed_on_names_files_without_their_folders(book, kept):
    assert Recipe(book, note="a/b").without_folders() == Recipe(kept, note="a/b")


def test_a_mapping_is_copied():
    tea = {"minutes": (3, 4)}
    kettle, other = Kettle(tea=tea), Kettle()
    tea["sort"] = "green"
    assert kettle.tea == {"minutes": [3, 4]}
    assert other.tea == {} and other.tea is not Kettle().tea


def test_a_former_name_of_a_setting_is_accepted():
    @dataclasses.dataclass(frozen=True)
    class Renamed(Config):
        renamed: ClassVar = {"depth": "levels"}
        levels: int = option(1, "Number of levels.")

    assert config_from_dict(Renamed, {"depth": 3}) == config_from_dict(Renamed, {"levels": 3})
    assert Renamed.current_names({"depth": 3, "splits": ["test"]}) == {"levels": 3, "splits": ["test"]}
    assert parse_value(Renamed, "depth", "3") == parse_value(Renamed, "levels", "3") == 3
    with pytest.raises(ConfigError, match="depths"):
        config_from_dict(Renamed, {"depths": 3})
