"""The library: text in; vectors, clusters and scores out."""
