"""URL keys of the Themes page."""

from themescope.webapp.shared.pages import PageKeys

THEMES, BY_COLUMN, OVER_TIME = "Themes", "By column", "Over time"
"""Tabs."""
FILES, RESULTS, HOW, AGAIN = "Files", "Other results", "How they were found", "Compute again"
"""What the menu opens in place of the tabs."""
LOW_CONFIDENCE = "Low confidence"
"""In place of a theme: the units that are more similar to another theme than to their own."""

KEYS = PageKeys("themes")
VIEW = KEYS.url("view")
RESULT = KEYS.url("result", record="themes")
LEVEL = KEYS.url("level")
THEME = KEYS.url("theme")
"""Name of the theme whose units are listed."""

REQUESTED = "themes_requested"
"""Id of the job whose themes were requested last."""
