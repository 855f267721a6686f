"""Names of themes and codes by a language model: what is sent is shown, and nothing is sent without agreement."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from tests.jobs.test_code_with_model import TEXTS, good, labelling
from tests.language_model_server import language_model_server
from tests.webapp.hands import Open, field, jobs_of, plain_words_of, press
from tests.webapp.test_themes import analysed
from themescope.core.records.stored import LabellingRecord
from themescope.db.store import Store
from themescope.jobs.queue import control
from themescope.jobs.queue.runner import run_here
from themescope.webapp.features.coding import REST
from themescope.webapp.shared.labelling import TITLE

__all__ = ["analysed", "labelling"]
URL, KEY = "http://127.0.0.1:9", "sk-never-shown"
NAME_THEMES = "Send and name themes"


def test_what_is_sent_is_shown_and_sent_only_after_agreement(
    analysed: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("LLM_URL", URL), ("LLM_MODEL", "tiny"), ("LLM_API_KEY", KEY)):
        monkeypatch.setenv(name, value)
    at = open_page("themes", corpus="My list", view=TITLE)
    shown = plain_words_of(at) + "".join(code.value for code in at.code).replace("\\", "")
    assert f"{URL}/v1/chat/completions" in shown and "model `tiny`" in shown and KEY not in shown
    assert "2 requests with 6 sentences" in shown and '"Sentence 7 of the list."' in shown
    (button,) = [b for b in at.button if b.label == NAME_THEMES]
    assert button.disabled
    (box,) = [box for box in at.checkbox if box.label.startswith("Send these texts")]
    box.check().run()
    field(at, "Themes to name").set_value(["2. two"]).run()
    assert "1 request with 3 sentences" in plain_words_of(at)
    (box,) = [box for box in at.checkbox if box.label.startswith("Send these texts")]
    assert not box.value, "other themes need another agreement"
    box.check().run()
    press(at, NAME_THEMES)
    (args,) = jobs_of(analysed, "name-themes")
    assert args["send"] is True and args["endpoint"] == f"{URL}/v1/chat/completions"
    assert KEY not in json.dumps(args)
    (box,) = [box for box in at.checkbox if box.label.startswith("Send these texts")]
    assert box.value is False  # the next use needs an agreement of its own


SEND = "Send and code"


@pytest.fixture
def coding(labelling: LabellingRecord, open_page: Open) -> Callable[[], AppTest]:
    def opened() -> AppTest:
        at = open_page("code", view=REST, labelling="mine")
        at.session_state[f"code_coding_{labelling.id}"] = True
        return at.run()

    return opened


def test_prompt_and_estimate_are_shown_and_sent_only_after_agreement(
    sqlite_store: Store, coding: Callable[[], AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    with language_model_server(good) as server:
        monkeypatch.setenv("LLM_URL", server.url)
        monkeypatch.setenv("LLM_MODEL", "tiny")
        at = coding()
        shown = plain_words_of(at)
        assert f"{server.url}/v1/chat/completions" in shown and "23 texts in 3 requests" in shown
        assert "time: unknown before the first job" in shown and "1 unit with the text of an example" in shown
        assert "About rivers." in at.code[0].value and TEXTS[5] in at.code[0].value
        assert next(b for b in at.button if b.label == SEND).disabled
        at.number_input[-1].set_value(1_000.0).run()
        assert "cost: about 0.2" in plain_words_of(at)
        next(box for box in at.checkbox if box.label.startswith("Send these texts")).check().run()
        at.text_area[0].set_value("Be careful.").run()  # other texts need another agreement
        assert next(b for b in at.button if b.label == SEND).disabled and server.requests == []
        next(box for box in at.checkbox if box.label.startswith("Send these texts")).check().run()
        press(at, SEND)
        (args,) = jobs_of(sqlite_store, "code-with-model")
        assert args["send"] is True and args["instructions"] == ["Be careful."] and server.requests == []
        store = Store(replace(sqlite_store.settings, llm_url=server.url, llm_model="tiny"))
        run_here(store, "code-with-model", args, quiet=True)
        with store.reading() as r:
            (queued,) = (job for job in r.jobs.list() if job.kind == "code-with-model" and not job.status.ended)
        control.cancel(store, queued.id)
        shown = plain_words_of(coding())
    assert "**tiny** coded 24 units, 1 not (example of the prompt: 1)" in shown


def test_without_an_endpoint_the_page_says_how_to_set_one(coding: Callable[[], AppTest]) -> None:
    at = coding()
    assert "LLM_URL" in plain_words_of(at) and not [b for b in at.button if b.label == SEND]
