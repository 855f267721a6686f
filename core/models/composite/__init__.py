"""Models built from other models: concatenation, hybrid similarity and context smoothing."""
