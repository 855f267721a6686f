"""URL keys of the Jobs page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("jobs")
STATUS = KEYS.url("status")
SEARCH = KEYS.url("search")
PAGE = KEYS.url("page", kind=int)
