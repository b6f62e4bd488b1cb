# SPDX-License-Identifier: BSD-3-Clause
"""Checks the module of kernels for GPUs, which no machine without one runs.

    tools/check_cuda.py MODULE CUOBJDUMP

All kernels of src/device/kernels/list.inl are there, as code of each kind of GPU and as PTX.  The
PTX reads and writes 16 bytes at a time, rounds products and sums apart, and keeps denormals.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "src/device/kernels/list.inl"
NAMES = f"""
#include "{LIST}"
STRETTO_PASSES(PASS) STRETTO_MAPS(MAP)
"""


def output(command: list[str | Path], folder: str | None = None, given: str = "") -> str:
    return subprocess.run(
        command, cwd=folder, input=given, capture_output=True, text=True, check=True
    ).stdout


def expected() -> set[str]:
    macros = ["-DPASS(name,...)=<stretto_##name>", "-DMAP(name,...)=<stretto_map_##name>"]
    text = output(["c++", "-E", "-P", "-x", "c++", *macros, "-"], given=NAMES)
    return set(re.findall(r"<(\w+)>", text))


def main() -> int:
    module, cuobjdump = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    wanted, wrong = expected(), []
    with tempfile.TemporaryDirectory() as folder:
        output([cuobjdump, "--extract-elf", "all", module], folder)
        codes = sorted(Path(folder).glob("*.cubin"))
        for code in codes:
            found = set(re.findall(rb"\.text\.(stretto_\w+)", code.read_bytes()))
            missing = wanted - {name.decode() for name in found}
            wrong += [f"{code.name} has no {name}" for name in sorted(missing)]
    ptx = output([cuobjdump, "--dump-ptx", module])
    kernels = dict(re.findall(r"\.entry (stretto_\w+)\((.*?)\n}", ptx, re.DOTALL))
    wrong += [f"the PTX has no {name}" for name in sorted(wanted - kernels.keys())]
    for name, text in sorted(kernels.items()):
        for access in ("ld", "st"):
            if not re.search(rf"\b{access}\.global\S*\.v(4\.[bfsu]32|2\.[bfsu]64)", text):
                wrong.append(f"{name} has no {access} of 16 bytes")
        if re.search(r"\bfma\.|\bmad\S*\.f|\.ftz", text.replace("div.rn", "")):
            wrong.append(f"{name} rounds a product and a sum at once, or loses denormals")
    if not codes:
        wrong.append("no code of any kind of GPU")
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(wanted)} kernels in {module.stat().st_size} bytes:", *(c.name for c in codes))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
