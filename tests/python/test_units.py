# SPDX-License-Identifier: BSD-3-Clause
"""Sizes, times and ranges as the command line takes and shows them."""

from __future__ import annotations

import pytest
from stretto.cli import units


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("4", 4), ("1K", 1024), ("64m", 64 << 20), ("2GiB", 2 << 30), ("3 kB", 3072)],
)
def test_sizes_are_powers_of_1024(text, size):
    assert units.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "-4", "4.5", "4X", "K"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="is no size"):
        units.parse_size(text)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("4:64", [4, 8, 16, 32, 64]),
        ("4:100*4", [4, 16, 64]),
        ("5", [5]),
        ("1K,3:12", [1024, 3, 6, 12]),
    ],
)
def test_ranges_of_sizes(text, sizes):
    assert units.parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["64:4", "0:8", "1:8*1", "1:8*x"])
def test_ranges_that_would_not_end_are_refused(text):
    with pytest.raises(ValueError, match=r"range|invalid"):
        units.parse_sizes(text)


def test_ranges_of_ranks():
    assert units.parse_ranks("1:4") == [1, 2, 3, 4]
    assert units.parse_ranks("7,2:3,3") == [2, 3, 7]
    with pytest.raises(ValueError, match="no range of ranks"):
        units.parse_ranks("0:3")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("4ms", 4e-3),
        ("30us", 3e-5),
        ("30µs", 3e-5),
        ("1.5s", 1.5),
        ("0.2ns", 2e-10),
        ("2e-9", 2e-9),
    ],
)
def test_times(text, seconds):
    assert units.parse_seconds(text) == pytest.approx(seconds)


def test_numbers_for_people():
    assert units.show_size(1536) == "1.5 KiB"
    assert units.show_size(4) == "4 B"
    assert units.show_seconds(4e-3) == "4 ms"
    assert units.show_seconds(1.25e-5) == "12.5 µs"
    assert units.show_ranges([1, 2, 3, 5, 8, 9]) == "1-3, 5, 8-9"
