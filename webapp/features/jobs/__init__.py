"""The Jobs page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("jobs")
JOB = KEYS.url("job")
