"""URL keys of the Train page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("train")
METHOD = KEYS.url("method")
TRIPLETS = KEYS.url("triplets", record="triplet set")
MODEL = KEYS.url("model", record="model")
