"""Tables as LaTeX, Markdown, HTML and Word."""
