"""Iclust, information-based clustering (Slonim et al. 2005): sequential, annealed and blockwise."""
