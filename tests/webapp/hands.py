"""What a person at a page in a test reads and presses, and what it queues."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from themescope.core.records.stored import JobStatus
from themescope.db.store import Store
from themescope.webapp.shared.forms import SERVER_PATH

Open = Callable[..., AppTest]  # the fixture open_page


def words_of(at: AppTest) -> str:
    """Everything that stands on a page as text."""
    kinds = (
        at.title, at.header, at.subheader, at.markdown, at.caption, at.text, at.info, at.warning, at.error, at.success,
        at.toast,
    )  # fmt: skip
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def plain_words_of(at: AppTest) -> str:
    """The same without the backslashes of Markdown."""
    return words_of(at).replace("\\", "")


def press(at: AppTest, label: str) -> AppTest:
    return next(button for button in at.button if button.label == label).click().run()


def field(at: AppTest, label: str) -> Any:
    """The first field of a label."""
    kinds = (at.selectbox, at.multiselect, at.text_input, at.text_area, at.slider)
    return next(one for kind in kinds for one in kind if one.label == label)


def import_from(at: AppTest, path: Path) -> AppTest:
    at.session_state["texts_import_source_0"] = SERVER_PATH
    at.session_state["texts_import_path_0"] = str(path)
    return at.run()


def jobs_of(store: Store, kind: str) -> list[dict[str, Any]]:
    with store.reading() as r:
        return [dict(job.args) for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == kind]


def sent(at: AppTest, *names: str) -> Any:
    """What the page sent to the last of its components with one of these names; {} without one."""
    found = [element.proto for element in at.get("bidi_component") if element.proto.component_name in names]
    return json.loads(getattr(found[-1], found[-1].WhichOneof("data"))) if found else {}


def listing(at: AppTest) -> dict[str, Any]:
    """Return the data of the last list of units on the page; {} without one. Sort and Table have it as "list"."""
    return dict(sent(at, "themescope_units", "themescope_panes"))


def listed(at: AppTest) -> list[dict[str, Any]]:
    """Return the units of the groups that were sent: id, text, sub, tag and note."""
    found = listing(at)
    of = found["list"] if "clusters" in found else found
    return [of["rows"][str(id)] for ids in of.get("groups", {}).values() for id in ids]
