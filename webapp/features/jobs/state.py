"""Session and URL keys of the Jobs page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("jobs")
STATUS = KEYS.url("status", old="state")
SEARCH = KEYS.url("search", old="job")
PAGE = KEYS.url("page", kind=int)
