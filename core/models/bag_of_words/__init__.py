"""Models that ignore word order: combined word vectors, tf-idf and word counts."""
