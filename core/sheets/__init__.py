"""Tables and lists of sentences: text, CSV, JSON lines and Excel."""
