"""Readers of documents: word processors, PDF, books, web archives, mail, subtitles, transcripts; and of archives."""
