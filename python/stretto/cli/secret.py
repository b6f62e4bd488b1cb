# SPDX-License-Identifier: BSD-3-Clause
"""`stretto secret`: makes the secret by which the hosts of a job trust one another."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

import click

from stretto import _core
from stretto.cli.tables import write_json

RANDOM_BYTES = 32  # 64 hexadecimal digits


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--replace", is_flag=True, help="Put a new one in place of the one that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the file.")
def secret(file: Path | None, replace: bool, as_json: bool) -> None:
    """Writes a new secret to FILE, which only its owner can read.

    \b
    stretto secret
    scp -p ~/.config/stretto/secret node2:.config/stretto/
    stretto secret --replace

    Without FILE: to the file that Stretto reads, that is, the one that STRETTO_SECRET_FILE names,
    or stretto/secret in $XDG_CONFIG_HOME, by default ~/.config.  Put the same file on every host
    of a job; docs/security.md says what it protects.

    The secret is not shown.  The exit status is 1 if Stretto would not use the file, for instance
    because others can write into its folder.
    """
    if file is None:
        found = _core.secret_file()
        if not found:
            raise click.ClickException("this user has no home: name a file, or set HOME")
        file = Path(found)
    try:
        if not write(file, replace):
            raise click.ClickException(
                f"there is a secret in {file} already; --replace makes a new one, which every host "
                "needs then"
            )
    except OSError as error:
        raise click.ClickException(f"cannot write {file}: {error.strerror}") from error
    _core.check_secret(str(file))
    if as_json:
        write_json("-", {"file": str(file)})
    else:
        click.echo(f"wrote a new secret to {file}")


def write(file: Path, replace: bool) -> bool:
    """Whole or not at all, and never readable by others; False if one is there that is to stay."""
    if not replace and os.path.lexists(file):
        return False
    make_folder(file.parent)
    # Its mode is 0600 from the beginning.
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "w") as out:
            out.write(secrets.token_hex(RANDOM_BYTES) + "\n")
            out.flush()
            os.fsync(out.fileno())
        if replace:
            os.replace(name, file)
        else:
            os.link(name, file)  # unlike renaming, this replaces nothing
    finally:
        if os.path.lexists(name):
            os.unlink(name)
    return True


def make_folder(folder: Path) -> None:
    """With its parents, which Path.mkdir would make accessible as the umask allows."""
    if not folder.exists():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700)
