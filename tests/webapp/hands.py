"""What a person at a page in a test reads and presses, and what it queues."""

from streamlit.testing.v1 import AppTest

from themescope.core.records.stored import JobStatus
from themescope.db.store import Store


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
    """Press the first button of a label."""
    return next(button for button in at.button if button.label == label).click().run()


def jobs_of(store: Store, kind: str) -> list[dict[str, object]]:
    """The arguments of the queued jobs of a kind."""
    with store.reading() as r:
        return [dict(job.args) for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == kind]
