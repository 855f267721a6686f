"""URL keys of the Texts page."""

from themescope.webapp.shared.pages import PageKeys

READ, REPORT, EDITS, FILES = "Read", "Import report", "Edits", "Bundle and dataset"
"""Views: the texts, and what the menu of the project opens in their place."""

KEYS = PageKeys("texts")
VIEW = KEYS.url("view")
SEARCH = KEYS.url("search")
ARTICLE = KEYS.url("article", record="document")
SENTENCE = KEYS.url("sentence")
"""Id of the sentence that the reader scrolls to."""
