"""People of an installation: roles, sign-in, tokens and personal data."""
