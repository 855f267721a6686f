"""URL keys of the Summaries page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("summaries")
VIEW = KEYS.url("view")
SEARCH = KEYS.url("search")
ARTICLE = KEYS.url("article")
SCORES = KEYS.url("scores")
DOCUMENTS = KEYS.url("documents")
