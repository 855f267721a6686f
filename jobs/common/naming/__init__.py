"""Names of themes by a language model."""
