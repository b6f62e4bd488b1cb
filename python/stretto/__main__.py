# SPDX-License-Identifier: BSD-3-Clause
"""`python -m stretto` is the command `stretto`."""

from stretto.cli import main

if __name__ == "__main__":
    main()
