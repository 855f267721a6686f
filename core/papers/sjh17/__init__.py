"""Experiment specs of Saha et al. 2017."""
