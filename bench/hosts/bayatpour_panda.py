#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What Bayatpour and Panda print of SALaR (Cluster 2018), computed again.

    .venv/bin/python bench/hosts/bayatpour_panda.py model

model: their LogGP model with the parameters of their validation figure, as a table and a picture.
It measures nothing, so it needs no root and no hosts, only the environment that `make` makes.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parent), str(HERE.parents[1])]

COMMANDS = ("model",)

if __name__ == "__main__":
    if sys.argv[1:2] not in [[each] for each in COMMANDS]:
        print(__doc__.strip())
        sys.exit(f"\nbayatpour_panda.py: name what to compute: {', '.join(COMMANDS)}")
    try:
        from salar_model import main
    except ModuleNotFoundError as error:
        sys.exit(f"bayatpour_panda.py: {error}; run `make install`, then .venv/bin/python {HERE}")
    sys.exit(main(sys.argv[2:]))
