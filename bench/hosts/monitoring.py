#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What it costs a host that its rank's arrivals are watched: the processor time of phases of
computation that end in allreduces, with and without, and what an edge takes (docs/arrivals.md)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "peers")]

from environment import enter  # noqa: E402

if __name__ == "__main__":
    enter(HERE)
    from phases import main

    sys.exit(main())
