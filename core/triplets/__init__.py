"""Triplets (pivot, positive, negative) of the sections of articles (Ein Dor et al. 2018, section 3)."""
