"""Comparison of the models of both papers with newer encoders and with the models of this project.

No paper has these tables, so no row has published numbers.
"""
