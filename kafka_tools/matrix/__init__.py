"""The page of settings: the answers of `advise` for every combination of a few switches, with their pictures."""
