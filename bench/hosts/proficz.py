#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of Proficz (2018), tables 3 and 4 and figures 10 to 12: allreduces that ranks
come to at different times, on hosts of the lab."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "peers")]

from environment import enter  # noqa: E402

if __name__ == "__main__":
    enter(HERE)
    from late_ranks import main

    sys.exit(main())
