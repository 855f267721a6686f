"""Triplet network of Ein Dor et al. (2018): settings, network, losses, training and inference."""
