"""The Jobs page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Jobs page

KEYS = PageKeys("jobs")
JOB = KEYS.url("job")
