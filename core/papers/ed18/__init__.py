"""Experiment specs of Ein Dor et al. 2018."""
