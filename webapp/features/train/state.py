"""Session and URL keys of the Train page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("train")
VIEW = KEYS.url("view")
METHOD = KEYS.url("method")
TRIPLETS = KEYS.url("triplets", old="set")
VALIDATION = KEYS.url("validation", old="validation-set")
SENTENCE_NETWORK = KEYS.url("sentence_network", old="network")
TITLE_NETWORK = KEYS.url("title_network", old="titles-network")
MODEL = KEYS.url("model")

NAME = KEYS.session("name")
SETTINGS = KEYS.session("settings")
CURVES = KEYS.session("curves")
FORM = KEYS.session("form")
ADD_MODEL = KEYS.session("add_model")
MULTILINGUAL = KEYS.session("multilingual")
