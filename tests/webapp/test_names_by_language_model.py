"""Names by a language model on Themes and Relabel: what is sent is shown, and nothing is sent without agreement."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS
from tests.webapp.test_themes import analysed
from themescope.core.labelling import operations as op
from themescope.core.records.stored import JobRecord, JobStatus, LabellingRecord, Sharing
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common.language_models.coding import agreed_digest, materials_of_partition
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.coding import LEARN
from themescope.webapp.shared.labelling.codebook_view import TITLE

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


def opened(at: AppTest, key: str) -> AppTest:
    at.session_state[key] = True
    return at.run()


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


@pytest.mark.usefixtures("model")
def test_after_a_merge_only_its_cluster_is_to_be_named(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    session = LabellingSession(filled_store, labelling.id, "")
    first, second, *others = sorted(session.partition.clusters)
    assert others
    session.do(op.merge(session.partition, [first, second], first))
    at = opened(open_page("code", labelling="Danube", view=LEARN), f"code_naming_{labelling.id}")
    assert next(box for box in at.multiselect if box.label == "Codes to name").value == [first]
    next(box for box in at.checkbox if box.label.startswith("Send these texts")).check().run()
    next(b for b in at.button if b.label == SEND).click().run()
    (job,) = jobs(filled_store)
    materials = materials_of_partition(session.partition, session.texts, [first])
    assert (job.args["numbers"], job.args["texts"]) == ([first], agreed_digest(materials))

    names = [{"number": first, "before": "", "name": "Rivers", "description": "", "state": "named", "reason": ""}]
    with filled_store.writing() as w:
        w.jobs.claim(job.id, "worker")
        result = {"model": "tiny", "labelling_id": labelling.id, "names": names}
        w.jobs.finish(job.id, "worker", JobStatus.DONE, result=result)
        w.labellings.rename(labelling.id, "Upper Danube", "")
    new = NewLabelling(labelling.corpus_id, "Danube", "", Sharing.SHARED, False, labelling.article_id)
    other = starts.begin(filled_store, new, starts.from_sections)
    at = opened(open_page("code", labelling="Danube", view=LEARN), f"code_naming_{other.id}")
    assert not [b for b in at.button if b.label == "Use names"], "another labelling has the name now"
    at = opened(open_page("code", labelling="Upper Danube", view=LEARN), f"code_naming_{labelling.id}")
    next(b for b in at.button if b.label == "Use names").click().run()
    session.sync()
    assert session.partition.clusters[first].name == "Rivers" and session.steps[-1].summary == "1 code renamed"
    assert next(box for box in at.multiselect if box.label == "Codes to name").value == []
    assert session.undo() is not None and np.all(session.partition.clusters[first].name != "Rivers")
