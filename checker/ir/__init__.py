"""The typed intermediate representation of specs, from which every compiled engine starts."""
