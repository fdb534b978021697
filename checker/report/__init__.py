"""Reports for people: counterexamples, tables and progress, as text."""
