#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares Stretto with other libraries on this host, in an environment of its own."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.append(str(HERE.parents[1]))

from environment import enter  # noqa: E402

if __name__ == "__main__":
    enter(HERE)
    from compare import main

    sys.exit(main())
