#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of Kolmakov and Zhang (2020), their figures 7 to 12, in slow motion: a host and
so a port of its own for each of up to 128 ranks."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "peers")]

from environment import enter  # noqa: E402

if __name__ == "__main__":
    enter(HERE)
    from slow_motion import main

    sys.exit(main())
