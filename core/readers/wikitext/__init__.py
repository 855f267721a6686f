"""Wikitext to plain sections: hand-made passes over the text, each in its own file, in the order of the pipeline.

tags (comments, references, HTML) → templates and tables → links → headings and paragraphs → tidy (entities, debris).
"""
