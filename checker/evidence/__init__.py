"""Evidence that a verdict is meaningful: the unused parts of a spec in a complete exploration, and mutation."""
