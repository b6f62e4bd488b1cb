# SPDX-License-Identifier: BSD-3-Clause
"""`stretto config`: where the library is, for building against it."""

from __future__ import annotations

from pathlib import Path

import click

import stretto
from stretto.cli.tables import write_json

PREFIX = Path(stretto.__file__).resolve().parent
WHAT = {
    "--prefix": ("The folder that holds include/ and lib/.", PREFIX),
    "--include": ("The folder to search for stretto/stretto.h.", PREFIX / "include"),
    "--lib": ("The folder of libstretto.so.", PREFIX / "lib"),
    "--cmake-dir": ("Value of stretto_DIR for find_package.", PREFIX / "lib" / "cmake" / "stretto"),
    "--pkg-config-dir": ("To be added to PKG_CONFIG_PATH.", PREFIX / "lib" / "pkgconfig"),
    "--cflags": ("Flags to compile with.", f"-I{PREFIX / 'include'}"),
    "--libs": (
        "Flags to link with.",
        f"-L{PREFIX / 'lib'} -Wl,-rpath,{PREFIX / 'lib'} -lstretto",
    ),
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def config(as_json: bool, **wanted: bool) -> None:
    """Prints where the library, its header, its CMake package and its pkg-config file are.

    \b
    cc mean.c -o mean $(stretto config --cflags --libs)
    cmake -S . -B build -Dstretto_DIR=$(stretto config --cmake-dir)
    stretto config --json
    PKG_CONFIG_PATH=$(stretto config --pkg-config-dir) pkg-config --libs stretto

    Without options, all of it.
    """
    chosen = [name for name in WHAT if wanted[name.lstrip("-").replace("-", "_")]]
    if as_json:
        write_json("-", {name.lstrip("-"): str(WHAT[name][1]) for name in chosen or WHAT})
    elif chosen:
        click.echo(" ".join(str(WHAT[name][1]) for name in chosen))
    else:
        for name, (_, value) in WHAT.items():
            click.echo(f"{name.lstrip('-'):<15} {value}")


for _name, (_meaning, _) in WHAT.items():
    config = click.option(_name, is_flag=True, help=_meaning)(config)
