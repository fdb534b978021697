"""Output formats: text, pages, graphs, and reports for continuous integration."""
