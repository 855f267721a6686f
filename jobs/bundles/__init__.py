"""A corpus in one file: a zip of JSON lines and safetensors with a manifest of digests. Nothing in it is ever run."""
