"""Session and URL keys of the Search page."""

from themescope.webapp.shared.pages import PageKeys

WORDS, MEANING = "Words", "Meaning"
"""Ways to search."""

KEYS = PageKeys("search")
QUERY = KEYS.url("q")
WAY = KEYS.url("in")

BOX = KEYS.session("box")
CHOSEN = KEYS.session("chosen")
"""Place of the result that was chosen in the list."""
