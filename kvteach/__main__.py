"""`python -m kvteach`, the same as the command `kvteach`."""

import sys

from kvteach.cli import main

if __name__ == "__main__":
    sys.exit(main())
