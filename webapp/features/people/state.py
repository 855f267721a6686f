"""Session and URL keys of the People page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("people")
MEMBER = KEYS.url("member")

ROLE = KEYS.session("role")
REFUSED = KEYS.session("refused")
