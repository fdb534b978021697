"""The interactive explorer: a local web page on which a person takes the steps of a spec, and `ExploredPath`."""
