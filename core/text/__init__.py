"""Text before it becomes vectors: sentences, tokens, vocabularies, word vectors."""
