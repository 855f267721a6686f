"""Names of themes by a language model: what is sent is shown, and nothing is sent without agreement."""

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS
from tests.webapp.test_themes import analysed
from themescope.core.records.stored import JobRecord, LabellingRecord, Sharing
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.webapp.shared.labelling import TITLE

__all__ = ["analysed"]
Open = Callable[..., AppTest]
URL, KEY = "http://127.0.0.1:9", "sk-never-shown"
SEND = "Send and name themes"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LLM_URL", URL), ("LLM_MODEL", "tiny"), ("LLM_API_KEY", KEY)):
        monkeypatch.setenv(name, value)


def words(at: AppTest) -> str:
    assert not at.exception
    elements = (*at.markdown, *at.caption, *at.code, *at.text)
    return "\n".join(str(element.value) for element in elements).replace("\\", "")


def jobs(store: Store) -> list[JobRecord]:
    with store.reading() as r:
        return [job for job in r.jobs.list() if job.kind == "name-themes"]


@pytest.mark.usefixtures("model")
def test_what_is_sent_is_shown_and_sent_only_after_agreement(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus="My list", view=TITLE)
    shown = words(at)
    assert f"{URL}/v1/chat/completions" in shown and "model `tiny`" in shown and KEY not in shown
    assert "2 requests with 5 sentences" in shown and '"Sentence 7 of the list."' in shown
    (button,) = [b for b in at.button if b.label == SEND]
    assert button.disabled
    (box,) = [box for box in at.checkbox if box.label.startswith("Send these texts")]
    box.check().run()
    next(b for b in at.button if b.label == SEND).click().run()
    (job,) = jobs(analysed)
    assert job.args["send"] is True and job.args["endpoint"] == f"{URL}/v1/chat/completions"
    assert KEY not in json.dumps(job.args)
    (box,) = [box for box in at.checkbox if box.label.startswith("Send these texts")]
    assert box.value is False  # the next use needs an agreement of its own


@pytest.mark.usefixtures("model")
def test_other_themes_need_another_agreement(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus="My list", view=TITLE)
    next(box for box in at.checkbox if box.label.startswith("Send these texts")).check().run()
    next(box for box in at.multiselect if box.label == "Themes to name").set_value(["2. two"]).run()
    assert "1 request with 2 sentences" in words(at)
    assert not next(box for box in at.checkbox if box.label.startswith("Send these texts")).value


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    with filled_store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
        article = r.corpora.articles(corpus.id)[0]
    new = NewLabelling(corpus.id, "Danube", "", Sharing.SHARED, False, article.id)
    return starts.begin(filled_store, new, starts.from_sections)
