# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in CUDA memory: of a driver in place of CUDA's, whose device memory nobody can touch."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "cpp/device"
SOURCES = [FOLDER / "simulated_cuda.cpp", FOLDER / "host_kernels.cpp"]
HEADERS = f"-I{Path(__file__).parents[2] / 'src'}"
pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def driver(tmp_path_factory) -> Path:
    library = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    options = ["-std=c++20", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1"]
    subprocess.run(["c++", *options, HEADERS, *SOURCES, "-o", library], check=True)
    return library


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_all_collectives_by_all_protocols(stretto, driver, ranks):
    done = stretto.job(ranks, "device", driver)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("all right") == ranks


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_calls_in_the_order_of_a_stream(stretto, driver, ranks):
    done = stretto.job(ranks, "device_order", driver)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("all right") == ranks


@pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="needs a GPU")
@pytest.mark.parametrize("library", ["torch", "cupy", "numba", "jax"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_libraries_on_a_gpu(stretto, library, ranks):
    pytest.importorskip(library)
    done = stretto.job(ranks, "device_libraries", library)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("all right") == ranks


def test_what_is_refused(stretto, driver):
    done = stretto.job(1, "device_refused", driver)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_a_driver(stretto):
    done = stretto.job(1, "device_refused")
    assert done.returncode == 0, done.stdout + done.stderr
