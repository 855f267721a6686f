"""Fine-tuned transformer sentence encoder: ``thematic-encoder``."""
