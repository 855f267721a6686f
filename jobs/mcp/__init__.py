"""Server of the Model Context Protocol, with which programs such as language models read and label (extra ``mcp``)."""
