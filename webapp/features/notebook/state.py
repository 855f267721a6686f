"""Session and URL keys of the Error notebook page."""

from themescope.webapp.shared.pages import PageKeys

CASES, CATEGORIES, COUNTS, AGREEMENT, REPORT = "Cases", "Categories", "Counts", "Agreement", "Report"
"""The tabs."""
ANY = "any"

KEYS = PageKeys("notebook")
VIEW = KEYS.url("view")
CASE = KEYS.url("case")
SEARCH = KEYS.url("search")
KIND = KEYS.url("kind")
MODEL = KEYS.url("model")
SECTION = KEYS.url("section")
CATEGORY = KEYS.url("category")
ANALYST = KEYS.url("analyst")
SAMPLE = KEYS.url("sample")
COUNTED_SAMPLE = KEYS.url("counted_sample")
COUNTED_ANALYST = KEYS.url("counted_analyst")
FIRST = KEYS.url("first")
SECOND = KEYS.url("second")

CODING_KEYS = KEYS.session("coding_keys")
STEP = KEYS.session("step")
TABLE = KEYS.session("table")
NOTE = KEYS.session("note")
CATEGORY_FORM = KEYS.session("category_form")
SUGGESTIONS = KEYS.session("suggestions")
UNDO_CATEGORY = KEYS.session("undo_category")
DRAW = KEYS.session("draw")
DELETED, JUST_DELETED = KEYS.session("deleted"), KEYS.session("just_deleted")
REFUSED = KEYS.session("refused")
EXPORT = KEYS.session("export")
INCLUDE = KEYS.session("include")
