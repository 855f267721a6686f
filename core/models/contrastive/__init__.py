"""Contrastive training on the sections of whole articles: sampling of batches, loss, training loop."""
