"""Order-free transformer over the sentence vectors of an article: ``set-encoder``."""
