"""Tables of version 0.2, from which its stores are migrated. New stores are created from the models instead."""

revision = "0023"
down_revision = None
