"""Two small classic specs that introduce the language."""
