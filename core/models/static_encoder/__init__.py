"""Trained table of word vectors whose weighted sum is the vector of a sentence: ``static-encoder``."""
