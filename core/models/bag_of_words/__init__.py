"""Models that combine word vectors or word counts without regard to word order."""
