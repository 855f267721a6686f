"""Conversion of wikitext to plain sections, in several passes over the text.

Comments, references and other hidden elements → templates and tables → links → HTML tags → headings and paragraphs →
clean-up (entities, remains of markup).
"""
