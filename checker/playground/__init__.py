"""The playground: a page on which a reader edits a spec and explores it with the Python engine, in the browser."""
