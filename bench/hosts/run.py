#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares Stretto with other libraries on hosts of the lab, in an environment of its own."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "peers")]

from environment import enter  # noqa: E402

if __name__ == "__main__":
    enter(HERE)
    from contest import main

    sys.exit(main())
