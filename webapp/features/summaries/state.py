"""Session and URL keys of the Summaries page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("summaries")
VIEW = KEYS.url("view")
SEARCH = KEYS.url("search")
ARTICLE = KEYS.url("article")
SCORES = KEYS.url("scores")
DOCUMENTS = KEYS.url("documents")

LENGTH = KEYS.session("length")
METHODS = KEYS.session("methods")
REFERENCES = KEYS.session("references")
COLLECTION, COLLECTION_KEPT = KEYS.session("collection"), KEYS.session("collection_kept")
COLLECTION_METHODS, COLLECTION_MODELS = KEYS.session("collection_methods"), KEYS.session("collection_models")
COLLECTION_LENGTH = KEYS.session("collection_length")
NEW_MODEL = KEYS.session("new_model")
TEXT = KEYS.session("text")
