"""Session and URL keys of the Agreement page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("agreement")
SCOPE = KEYS.url("scope", record="labelled text")
COUNTED = KEYS.url("counted")
LABELLINGS = KEYS.session("labellings")
REVEAL = KEYS.session("reveal")
PAIRS = KEYS.session("pairs")
GOLD_NAME = KEYS.session("gold_name")
METHODS = KEYS.session("methods")
CODES_FILE = KEYS.session("codes_file")
RELIABILITY_FILE, METHODS_FILE = KEYS.session("reliability_file"), KEYS.session("methods_file")
