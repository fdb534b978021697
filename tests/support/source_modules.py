"""Modules of source texts that tests make."""

import importlib.util
import itertools
import sys

_numbers = itertools.count()


def load(source, folder):
    """Return the module of a source text, which is written to `folder` so that the front end can read it."""
    # Never a name again: cached byte code may belong to an older text of the same second and size.
    name = f"random_spec_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    description = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(description)
    sys.modules[name] = module
    description.loader.exec_module(module)
    return module
