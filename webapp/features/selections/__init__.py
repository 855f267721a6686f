"""The Selections page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Selections page

KEYS = PageKeys("selections")
OPEN = KEYS.url("open")
"""Id of a stored selection."""
PART = KEYS.url("part")
