"""The Themes page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Themes page

NEW, RESULTS = "New list", "Results"
"""Tabs."""
PASTE, UPLOAD, EXISTING = "Paste", "Upload a file", "Existing project"
"""Sources of sentences."""

KEYS = PageKeys("themes", viewed=("themes_map_state", "themes_opened_selection"))
VIEW = KEYS.url("view")
RESULT = KEYS.url("result", record="themes")
THEME = KEYS.url("theme")
STORED = KEYS.url("selection", record="selection")
"""Id of a stored selection."""
PART = KEYS.url("part")
SOURCE = KEYS.url("source")

REQUESTED = "themes_requested"
"""Id of the job whose themes were requested last."""

BY_CATEGORY, OVER_TIME = "By category", "Over time"
"""Views of themes and columns."""
THEMES = "Themes"
