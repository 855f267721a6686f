"""The triplet network of Ein Dor et al. 2018: configuration, network, losses, training and inference."""
