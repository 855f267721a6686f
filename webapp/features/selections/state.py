"""URL keys of the Selections page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("selections")
OPEN = KEYS.url("open")
"""Id of a stored selection."""
PART = KEYS.url("part")
