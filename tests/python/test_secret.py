# SPDX-License-Identifier: BSD-3-Clause
"""`stretto secret`."""

from __future__ import annotations

import json
import os
import stat

import pytest


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of this user's own, with no secret in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "STRETTO_SECRET", "STRETTO_SECRET_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def origin(stretto, **settings) -> str | None:
    done = stretto("info", "network", "--json", **settings)
    return json.loads(done.stdout)["network"]["secret"]["origin"]


def test_what_is_written_is_what_jobs_use(stretto, home):
    old = os.umask(0)  # whatever it is
    try:
        done = stretto("secret")
    finally:
        os.umask(old)
    assert done.returncode == 0, done.stderr
    file = home / ".config" / "stretto" / "secret"
    assert done.stdout == f"wrote a new secret to {file}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder in (file.parent, file.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    text = file.read_text()
    assert len(text) == 65 and int(text, 16)
    assert origin(stretto) == str(file)
    assert [each.name for each in file.parent.iterdir()] == ["secret"]


def test_one_that_is_there_stays(stretto, home):
    file = home / "keep"
    assert stretto("secret", file).returncode == 0
    first = file.read_text()
    done = stretto("secret", file)
    assert done.returncode == 1
    assert "there is a secret" in done.stderr and "--replace" in done.stderr
    assert file.read_text() == first
    done = stretto("secret", "--replace", "--json", file)
    assert json.loads(done.stdout) == {"file": str(file)}
    assert file.read_text() != first
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_it_goes_where_the_settings_say(stretto, home):
    assert stretto("secret", STRETTO_SECRET_FILE=str(home / "a" / "b")).returncode == 0
    assert origin(stretto, STRETTO_SECRET_FILE=str(home / "a" / "b")) == str(home / "a" / "b")
    assert stretto("secret", XDG_CONFIG_HOME=str(home / "config")).returncode == 0
    assert (home / "config" / "stretto" / "secret").exists()


def test_a_folder_in_which_others_write_is_told(stretto, home):
    shared = home / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    done = stretto("secret", shared / "secret")
    assert done.returncode == 1
    assert f"others may write into the folder {shared}" in done.stderr
    assert "chmod go-w" in done.stderr
    assert done.stdout == ""


def test_where_nothing_can_be_written(stretto, home):
    (home / "file").write_text("")
    done = stretto("secret", home / "file" / "secret")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: cannot write")
    assert stretto("secret", home).returncode == 2  # a folder
