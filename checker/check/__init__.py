"""What every engine has in common: the plan of a run, its result, and the words for a violation."""
