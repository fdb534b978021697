"""`python -m checker`."""

import sys

from checker.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
