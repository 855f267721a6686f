"""Bundles: a corpus in one zip of JSON lines and safetensors with a manifest of digests. No part is executed."""
