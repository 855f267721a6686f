"""Saha et al. 2017, *CON-S2V: A Generic Framework for Incorporating Extra-Sentential Context into Sen2Vec*.

Published numbers are copied from the paper.
"""
