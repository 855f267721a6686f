"""Pretrained transformer sentence encoders."""
