#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What Bayatpour and Panda show of DPML (SC 2017) and SALaR (Cluster 2018), again.

    .venv/bin/python bench/hosts/bayatpour_panda.py model
    .venv/bin/python bench/hosts/bayatpour_panda.py scale
    sudo .venv/bin/python bench/hosts/bayatpour_panda.py order
    sudo .venv/bin/python bench/hosts/bayatpour_panda.py chunks

model: their LogGP model with the parameters of their validation figure, as a table and a picture.
scale: a simulation of their scales, 448 to 1792 ranks: prices of DPML, SALaR and what they compare
with over a network with these parameters.
Neither measures anything, so they need no root and no hosts.
order: leaders that visit the other hosts in cyclic order, and in the same order, on 16 hosts of the
lab. chunks: fixed sizes of chunks and Stretto's choice, on 4 hosts of 4 ranks.
All need only the environment that `make install` makes; each has --help.
"""

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parent), str(HERE.parents[1])]

COMMANDS = {
    "model": "salar_model",
    "scale": "salar_scale",
    "order": "salar_lab",
    "chunks": "salar_lab",
}

if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in COMMANDS:
        print(__doc__.strip())
        sys.exit(f"\nbayatpour_panda.py: name what to compute: {', '.join(COMMANDS)}")
    try:
        main = import_module(COMMANDS[name]).main
    except ModuleNotFoundError as error:
        sys.exit(f"bayatpour_panda.py: {error}; run `make install`, then .venv/bin/python {HERE}")
    sys.exit(main(sys.argv[1:] if COMMANDS[name] == "salar_lab" else sys.argv[2:]))
