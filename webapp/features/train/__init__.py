"""The Train page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Train page

KEYS = PageKeys("train")
VIEW = KEYS.url("view")
METHOD = KEYS.url("method")
TRIPLETS = KEYS.url("triplets", record="triplet set")
VALIDATION = KEYS.url("validation")
SENTENCE_NETWORK = KEYS.url("sentence_network")
TITLE_NETWORK = KEYS.url("title_network")
MODEL = KEYS.url("model", record="model")
