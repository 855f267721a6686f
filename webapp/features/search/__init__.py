"""The Search page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Search page

WORDS, MEANING = "Words", "Meaning"
"""Ways to search."""

KEYS = PageKeys("search")
QUERY = KEYS.url("q")
WAY = KEYS.url("in")

BOX = "search_box"
