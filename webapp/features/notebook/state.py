"""URL keys of the Error notebook page."""

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

TABLE = "notebook_table"
CATEGORY_FORM = "notebook_category_form"
JUST_DELETED = "notebook_just_deleted"
