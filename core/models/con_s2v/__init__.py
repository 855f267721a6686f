"""Sentence and word vectors learned from a corpus: CON-S2V (Saha et al. 2017) and its baselines."""
