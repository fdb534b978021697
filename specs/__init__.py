"""The protocols, a package for each family. A spec is named `family/name`; `scenarios` say how it is checked."""
