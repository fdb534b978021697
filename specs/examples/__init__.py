"""Small classic specs that introduce the language."""
