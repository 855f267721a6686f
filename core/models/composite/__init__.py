"""Models built from other models: concatenation, hybrid with tf-idf, and context smoothing."""
