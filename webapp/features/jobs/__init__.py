"""The Jobs page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Jobs page

KEYS = PageKeys("jobs")
STATUS = KEYS.url("status")
SEARCH = KEYS.url("search")
PAGE = KEYS.url("page", kind=int)
