"""Tables of version 0.1, from which its stores are migrated. New stores are created from the models instead."""

revision = "0009"
down_revision = None
