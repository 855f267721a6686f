"""Parts of pages: each draws one thing and speaks to the store through :mod:`webapp.shared.queries` only."""
