"""Two small classics, to learn the language from."""
