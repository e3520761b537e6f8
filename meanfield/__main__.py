"""`python -m meanfield`: the same as the command `meanfield`."""

import sys

from meanfield.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
