"""The typed intermediate representation that every compiled engine starts from."""
