"""Triplets (pivot, same theme, other theme) from the way articles are divided into sections.

Source: Ein Dor et al. 2018, section 3. ``rules`` says what is admissible, ``filtering`` applies it to one article,
``sample`` draws, ``csv`` reads triplets that somebody else drew.
"""
