"""URL keys of the Search page."""

from themescope.webapp.shared.pages import PageKeys

WORDS, MEANING = "Words", "Meaning"
"""Ways to search."""

KEYS = PageKeys("search")
QUERY = KEYS.url("q")
WAY = KEYS.url("in")

BOX = "search_box"
