#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The training of Proficz (2018), section 6 and table 5: recorded steps of examples/cnn, played
again on hosts of the lab that average real models."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "peers")]
sys.path += [str(HERE.parents[2] / "examples" / "cnn")]

from environment import enter  # noqa: E402

if __name__ == "__main__":
    enter(HERE)
    from replay import main

    sys.exit(main())
