import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from themescope.jobs.common.logs import JsonLines, TextLines, about_job, about_person, redirect

SECRET = "The king was crowned in 1066."


@contextmanager
def failing() -> Iterator[logging.LogRecord]:
    """Yield the record of an exception whose message, and that of its cause, quotes a text."""
    try:
        try:
            raise KeyError(SECRET)
        except KeyError as cause:
            raise ValueError(f"cannot parse {SECRET}") from cause
    except ValueError:
        yield logging.LogRecord("themescope.jobs.x", logging.ERROR, __file__, 1, "Job %d failed.", (7,), sys.exc_info())


def test_a_record_is_one_json_object_per_line_with_the_job_and_the_person() -> None:
    record = logging.LogRecord("themescope.jobs.x", logging.INFO, __file__, 1, "first\nsecond “%s”", ("ä",), None)
    line = JsonLines("worker").format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert found["message"] == "first\nsecond “ä”"
    assert (found["level"], found["logger"]) == ("INFO", "themescope.jobs.x")
    assert found["process"].startswith("worker@") and found["time"].endswith("+00:00")
    assert not {"job", "person", "error", "stack"} & set(found)
    with failing() as broken:
        found = json.loads(JsonLines("worker").format(broken))
    assert found["error"] == ["builtins.KeyError", "builtins.ValueError"], "the cause comes first"
    about_person("ada")
    with about_job(12):
        found = json.loads(JsonLines("web").format(record))
    about_person("")
    assert (found["job"], found["person"]) == (12, "ada")
    assert not {"job", "person"} & set(json.loads(JsonLines("web").format(record)))


@pytest.mark.parametrize("formatter", [JsonLines("worker"), TextLines()])
def test_no_message_of_an_exception_is_logged(formatter: logging.Formatter) -> None:
    with failing() as record:
        line = formatter.format(record)
    assert SECRET not in line
    assert "Job 7 failed." in line and 0 < line.index("builtins.KeyError") < line.index("builtins.ValueError")
    assert f"{__file__}:" in line and "failing" in line


def test_records_of_loggers_with_handlers_of_their_own_come_out_once(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("streamlit.made_for_this_test")
    own = logging.StreamHandler()
    own.emit = lambda record: pytest.fail("The handler of the library was used.")  # type: ignore[method-assign]
    logger.addHandler(own)
    logger.propagate = False
    logger.setLevel(logging.INFO)
    redirect()
    redirect()
    try:
        logger.warning("once")
        logger.info("routine, as of every connection")
    finally:
        logger.removeHandler(own)
        logger.setLevel(logging.NOTSET)
    assert [record.getMessage() for record in caplog.records] == ["once"]
