"""Session and URL keys of the Themes page."""

from themescope.webapp.shared.pages import PageKeys

NEW, RESULTS = "New list", "Results"
"""Tabs."""
PASTE, UPLOAD, EXISTING = "Paste", "Upload a file", "Existing corpus"
"""Sources of sentences."""

KEYS = PageKeys("themes")
VIEW = KEYS.url("view")
RESULT = KEYS.url("result", record="themes")
THEME = KEYS.url("theme")
STORED = KEYS.url("selection")
"""Id of a stored selection."""
PART = KEYS.url("part")
SOURCE = KEYS.url("source")

REQUESTED = KEYS.session("requested")
"""Id of the job whose themes were requested last."""
FIND = KEYS.session("find")
PASTED = KEYS.session("pasted")
FILE = KEYS.session("file")
KEPT_FILE = KEYS.session("kept_file")
LIST_NAME = KEYS.session("list_name")
EXISTING_CORPUS = KEYS.session("existing_corpus")
SELECTION = KEYS.session("map_state", viewed=True)
CURVES = KEYS.session("curves")
NUMBER = KEYS.session("number")
CARD = KEYS.session("theme-card")
"""Prefix of the keys of cards, which the style sheet selects."""
NAMING = KEYS.session("naming")
"""Prefix of the fields of the form for names by a language model."""
TO_NAME = KEYS.session("to_name")
SHOW_NUMBERS = KEYS.session("show_numbers")
PANEL, OPENED_SELECTION = KEYS.session("panel"), KEYS.session("opened_selection", viewed=True)
NEW_THEME_NAME = KEYS.session("new_theme_name")

BY_CATEGORY, OVER_TIME = "By category", "Over time"
"""Views of themes and columns."""
THEMES = "Themes"
COLUMN_VIEW, CLASSES, CATEGORY = KEYS.session("column_view"), KEYS.session("classes"), KEYS.session("category")
CELLS, ONCE, DATE = KEYS.session("cells"), KEYS.session("once"), KEYS.session("date")
PERIOD, LINES, TIME_CHART = KEYS.session("period"), KEYS.session("lines"), KEYS.session("time_chart")
