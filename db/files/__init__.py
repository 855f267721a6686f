"""Files of a store beside its database: artifacts, and files of vectors."""
