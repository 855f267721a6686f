"""Building blocks shared by several job kinds."""
