# SPDX-License-Identifier: BSD-3-Clause
"""Refuses a library that needs more of the system's libraries than the oldest system has.

python tools/check_symbols.py [--glibc VERSION] LIBRARY...

A library records which version of each function of glibc, libgcc and the C++ runtime it needs, and
does not load where one is missing.  The limits are those of wheels for manylinux_2_28.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

LIMITS = {"GLIBC": "2.28", "GLIBCXX": "3.4.24", "CXXABI": "1.3.11", "GCC": "7.0.0"}
REMEDIES = {
    "GLIBC": "build where glibc is that old, or against its interfaces, as make test-glibc does",
    "GLIBCXX": "link with -static-libstdc++, as CMakeLists.txt of the library does",
    "CXXABI": "link with -static-libstdc++, as CMakeLists.txt of the library does",
    "GCC": "build with an older GCC, or link with -static-libgcc",
}
# 0000 0 FUNC GLOBAL DEFAULT UND pthread_create@GLIBC_2.34 (5)
NEEDED = re.compile(r" UND (?P<symbol>\S+?)@+(?P<family>[A-Z]+)_(?P<version>[0-9.]+)(?: |$)")


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def needed(listing: str) -> set[tuple[str, str, str]]:
    """What a library needs by `readelf --dyn-syms`: family, version and symbol."""
    found = map(NEEDED.search, listing.splitlines())
    return {(one["family"], one["version"], one["symbol"]) for one in found if one}


def too_new(needs: set[tuple[str, str, str]], limits: dict[str, str]) -> list[str]:
    """A line for each version beyond its limit, then one for each remedy."""
    beyond: dict[tuple[str, str], list[str]] = {}
    for family, version, symbol in sorted(needs):
        if family in limits and number(version) > number(limits[family]):
            beyond.setdefault((family, version), []).append(symbol)
    lines = []
    for (family, version), symbols in beyond.items():
        more = f" and {len(symbols) - 8} more" if symbols[8:] else ""
        lines.append(
            f"needs {family}_{version}, beyond {limits[family]}, for {', '.join(symbols[:8])}{more}"
        )
    return lines + sorted({f"remedy: {REMEDIES[family]}" for family, _ in beyond})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="+", type=Path, metavar="LIBRARY")
    parser.add_argument(
        "--glibc", default=LIMITS["GLIBC"], help="the oldest glibc, instead of 2.28"
    )
    options = parser.parse_args()
    limits = LIMITS | {"GLIBC": options.glibc}
    if not shutil.which("readelf"):
        sys.exit("Stretto: there is no readelf; apt-get install binutils")
    failed = False
    for library in options.libraries:
        done = subprocess.run(
            ["readelf", "--wide", "--dyn-syms", library], capture_output=True, text=True
        )
        needs = needed(done.stdout)
        if done.returncode or not needs:
            sys.exit(f"{library}: readelf shows no versions of symbols {done.stderr}".rstrip())
        newest = {}
        for family, version, _ in needs:
            newest[family] = max(newest.get(family, "0"), version, key=number)
        print(f"{library}: needs {', '.join(f'{f}_{v}' for f, v in sorted(newest.items()))}")
        for line in too_new(needs, limits):
            print(f"{library}: {line}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
