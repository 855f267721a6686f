"""Session and URL keys of the page Jobs."""

from webapp.shared.state import PageKeys

KEYS = PageKeys("jobs")
STATUS = KEYS.url("status", old="state")
SEARCH = KEYS.url("search", old="job")
PAGE = KEYS.url("page", kind=int)
