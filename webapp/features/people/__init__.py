"""URL keys of the People page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("people")
MEMBER = KEYS.url("member", record="person")
