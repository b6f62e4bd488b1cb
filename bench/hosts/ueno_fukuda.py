#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The measurement of Ueno and Fukuda (2018), its CPU part: how long an allreduce of 256 MiB takes
on 8 hosts, and how much that varies over 10 runs with the first among them."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "peers")]

from environment import enter  # noqa: E402

if __name__ == "__main__":
    enter(HERE)
    from variance import main

    sys.exit(main())
