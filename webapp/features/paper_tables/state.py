"""URL keys of the Paper tables page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("paper_tables")
VIEW = KEYS.url("view")
PAPER = KEYS.url("paper")
PROFILE = KEYS.url("profile")
TABLE = KEYS.url("table")
NEW_PROFILE = KEYS.url("new_profile")
