"""The Agreement page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Agreement page

KEYS = PageKeys("agreement")
SCOPE = KEYS.url("scope", record="labelled text")
COUNTED = KEYS.url("counted")
