"""The Corpora page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Corpora page

READ, LISTING, IMPORT_VIEW = "Read", "All projects", "Import"
"""Tabs."""

KEYS = PageKeys("corpora")
VIEW = KEYS.url("view")
SEARCH = KEYS.url("search")
ARTICLE = KEYS.url("article", record="document")
SENTENCE = KEYS.url("sentence")
"""Id of the sentence that the reader scrolls to."""
DETAILS = KEYS.url("details", record="project")

BUNDLE_ROUND = "corpora_bundle_round"
