"""Import of texts: reading of files, parsing and splitting in shards, and columns."""
