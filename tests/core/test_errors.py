"""Messages of errors stay short, whatever a file contains, and errors can be sent between processes."""

import pickle

import pytest

from themescope.core.errors import ConfigError, ReadError, UnknownNameError


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


def test_where_and_what_to_do_are_kept():
    error = ReadError("a.xml", "there are: " + "x" * 10_000 + ".", "line 1", "Correct it.")
    assert str(error).startswith("a.xml, line 1: there are: xxx") and str(error).endswith("xxx. Correct it.")


def test_other_messages_are_whole():
    assert str(ConfigError("a" * 1_500)) == "a" * 1_500
