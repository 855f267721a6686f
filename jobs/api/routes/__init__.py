"""Operations of the HTTP API by subject."""
