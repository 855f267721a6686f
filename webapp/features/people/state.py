"""Session and URL keys of the page People."""

from webapp.shared.state import PageKeys

KEYS = PageKeys("people")
MEMBER = KEYS.url("member")

ROLE = KEYS.session("role")
REFUSED = KEYS.session("refused")
