"""The pages Texts and Import."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Texts page

READ, LISTING = "Read", "All projects"
"""Tabs."""

KEYS = PageKeys("texts")
VIEW = KEYS.url("view")
SEARCH = KEYS.url("search")
ARTICLE = KEYS.url("article", record="document")
SENTENCE = KEYS.url("sentence")
"""Id of the sentence that the reader scrolls to."""
DETAILS = KEYS.url("details", record="project")

BUNDLE_ROUND = "texts_bundle_round"
