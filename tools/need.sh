#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Are the programs there that a target of the Makefile runs?  If not, says what to install.
#
#     tools/need.sh TARGET PROGRAM=PACKAGE...       (packages by Debian's names)

target=$1
shift
missing=
for each in "$@"; do
    program=${each%%=*} package=${each#*=}
    if ! command -v "$program" > /dev/null 2>&1; then
        echo "Stretto: make $target runs $program, which is not installed" >&2
        missing="$missing $package"
    fi
done
if [ -n "$missing" ]; then
    echo "Stretto: apt-get install$missing" >&2
    exit 1
fi
