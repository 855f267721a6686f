import dataclasses
import importlib
import json

import pytest

from themescope.core.config import Config, config_from_dict, options
from themescope.core.errors import ConfigError

FAMILIES = (
    "themescope.core.readers",
    "themescope.core.models",
    "themescope.core.clustering",
    "themescope.core.metrics",
    "themescope.core.tasks.summaries",
    "themescope.jobs.kinds",
)
REGISTRIES = {family: importlib.import_module(family).REGISTRY for family in FAMILIES}
CARDS = [pytest.param(card, id=f"{family}:{card.id}") for family, found in REGISTRIES.items() for card in found]


@pytest.mark.parametrize("card", CARDS)
def test_card_and_settings_say_what_they_are(card):
    assert card.id == card.id.lower() and " " not in card.id
    assert card.title and card.source and card.summary.endswith(".")
    assert callable(card.resolve())
    suffixes = getattr(card, "suffixes", ("any",))
    assert suffixes and all(suffix == suffix.lower() and not suffix.startswith(".") for suffix in suffixes)
    cls = card.config_class()
    assert issubclass(cls, Config)
    assert dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen
    for name, (_, _, info) in options(cls).items():
        assert info.help.endswith("."), f"{cls.__name__}.{name} has no help sentence"


@pytest.mark.parametrize("card", [c for c in CARDS if "themescope.jobs.kinds" not in c.id])
def test_default_config_survives_json(card):
    config = card.config_class()()
    again = config_from_dict(type(config), json.loads(json.dumps(config.to_dict())))
    assert again == config and again.digest() == config.digest()
    with pytest.raises(ConfigError):
        config_from_dict(type(config), {"no_such_setting": 1})
