"""Text processing: sentence splitting, tokens, stems and word vectors."""
