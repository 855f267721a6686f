"""Session and URL keys of the page Map."""

from webapp.shared.state import PageKeys

SUBSTRING, WHOLE_WORDS, MEANING = "substring", "whole words", "meaning"
MATCHES = (SUBSTRING, WHOLE_WORDS, MEANING)
"""Ways to search."""
SENTENCES, SECTIONS = "Sentences", "Sections and words"
"""What the panel beside the map lists."""

KEYS = PageKeys("map")
MAP = KEYS.url("map")
ARTICLES = KEYS.url("articles", old="titles", kind=list)
COLOUR = KEYS.url("colour")
SEARCH = KEYS.url("search", old="find")
MATCH = KEYS.url("match", old="by", values={"letters": SUBSTRING})
SIMILAR = KEYS.url("similar", old="like")
NEAREST = KEYS.url("nearest", kind=int)
SIZE = KEYS.url("size")
OPACITY = KEYS.url("opacity", kind=float)
OTHER_MAP = KEYS.url("compare", old="beside")
LIST = KEYS.url("list")
SHAPE = KEYS.url("shape")
SIDE = KEYS.url("side")
HIDDEN = KEYS.url("hidden", old="hide")
SENTENCE = KEYS.url("sentence")
CAMERA = KEYS.url("camera", old="at")

OPENED = KEYS.session("opened")
SELECTION = KEYS.session("selection")
DEFAULT_SIZE = KEYS.session("default_size")
NEW_MAP = KEYS.session("new_map")
NEW_MAP_MODEL = KEYS.session("new_map_model")
TABLE = KEYS.session("table")
DETAILS = KEYS.session("details")
ROWS = KEYS.session("rows")
