"""Session and URL keys of the Themes page."""

from themescope.webapp.shared.pages import PageKeys

NEW, RESULTS = "New list", "Results"
"""Tabs."""
PASTE, UPLOAD, EXISTING = "Paste", "Upload a file", "Existing corpus"
"""Sources of sentences."""

KEYS = PageKeys("themes")
VIEW = KEYS.url("view", values={"Themes found": RESULTS})
RESULT = KEYS.url("result", old="themes", record="themes")
THEME = KEYS.url("theme", values={"all themes": "All themes"})
STORED = KEYS.url("selection")
"""Id of a stored selection."""
PART = KEYS.url("part")
SOURCE = KEYS.url("source", values={"A corpus that is here": EXISTING})

REQUESTED = KEYS.session("requested")
"""Corpus of the themes requested last, and the number of its results at that time."""
FIND = KEYS.session("find")
PASTED = KEYS.session("pasted")
FILE = KEYS.session("file")
KEPT_FILE = KEYS.session("kept_file")
LIST_NAME = KEYS.session("list_name")
EXISTING_CORPUS = KEYS.session("existing_corpus")
SELECTION = KEYS.session("map_state")
CURVES = KEYS.session("curves")
NUMBER = KEYS.session("number")
CARD = KEYS.session("theme-card")
"""Prefix of the keys of cards, which the style sheet selects."""
NAMING = KEYS.session("naming")
"""Prefix of the fields of the form for names by a language model."""
TO_NAME = KEYS.session("to_name")
SHOW_NUMBERS = KEYS.session("show_numbers")
PANEL, OPENED_SELECTION = KEYS.session("panel"), KEYS.session("opened_selection")
NEW_THEME_NAME = KEYS.session("new_theme_name")

BY_CATEGORY, OVER_TIME = "By category", "Over time"
"""Views of themes and columns."""
THEMES = "Themes"
COLUMN_VIEW, CLASSES, CATEGORY = KEYS.session("column_view"), KEYS.session("classes"), KEYS.session("category")
CELLS, ONCE, DATE = KEYS.session("cells"), KEYS.session("once"), KEYS.session("date")
PERIOD, LINES, TIME_CHART = KEYS.session("period"), KEYS.session("lines"), KEYS.session("time_chart")
