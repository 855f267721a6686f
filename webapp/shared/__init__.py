"""Parts that several features use: layout, forms, charts, queries, sign-in."""
