"""Lists of sentences in the files people have: text, CSV, JSON lines and Excel, read with bounds and written safely."""
