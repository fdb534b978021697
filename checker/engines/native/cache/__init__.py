"""Machine code that is used again: by the sources of a spec, and by several specs of a command."""
