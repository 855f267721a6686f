"""The library: sentences in; vectors, clusters, themes and scores out. Its public names are those of ``themescope``."""
