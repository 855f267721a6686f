"""Session and URL keys of the Codebook page."""

from themescope.webapp.shared.pages import PageKeys

CODES, VERSIONS, PRACTICE, FILES = "Codes", "Versions", "Practice", "Files"
"""Tabs."""

KEYS = PageKeys("codebook")
VIEW = KEYS.url("view")
LABELLING = KEYS.url("labelling", record="labelling")
SEARCH = KEYS.url("search")
STATE = KEYS.session("state")
OPEN_NEXT = KEYS.session("open_next")
"""Name of the labelling to open in the next run."""
FORM, EDIT, SHOWN = KEYS.session("form"), KEYS.session("edit"), KEYS.session("shown")
VERSION_FORM, VERSION_NAME = KEYS.session("version_form"), KEYS.session("version_name")
OLD, NEW = KEYS.session("old"), KEYS.session("new")
CODE_FILE, PROJECT_FILE, KEPT = KEYS.session("code_file"), KEYS.session("project_file"), KEYS.session("kept")
TEXTS_FORM = KEYS.session("texts_form")
ATTEMPT, ANSWER, ITEM = KEYS.session("attempt"), KEYS.session("answer"), KEYS.session("item")
