"""The People page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the People page

KEYS = PageKeys("people")
MEMBER = KEYS.url("member", record="person")
