"""Sentences that people have placed, and how well methods cluster them."""
