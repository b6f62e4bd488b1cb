#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Is there what the build cannot install by itself?  If not, one line says what to install.
#
#     tools/check_machine.sh PYTHON

fail() {
    echo "Stretto: $1" >&2
    exit 1
}

python=${1:-python3}
command -v "$python" >/dev/null 2>&1 ||
    fail "there is no $python; install Python 3.10 or later (apt-get install python3 python3-venv)"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$python is Python $version; install 3.10 or later and run make PYTHON=/path/to/it"
"$python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
    fail "Python $version has no venv module; apt-get install python$version-venv"
header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
[ -f "$header" ] || fail "Python $version has no C headers; apt-get install python$version-dev"

cxx=${CXX:-c++}
cc=${CC:-cc}
for compiler in "$cxx" "$cc"; do
    command -v "${compiler%% *}" >/dev/null 2>&1 ||
        fail "there is no compiler '$compiler'; apt-get install g++ (GCC 12 or later, or Clang 15)"
done
probe=$(mktemp -d) || exit 1
trap 'rm -rf "$probe"' EXIT
cat >"$probe/probe.cpp" <<'END'
#include <atomic>
#include <bit>
#include <concepts>
#include <span>
#include <vector>
template<class T> concept Number = std::integral<T> || std::floating_point<T>;
struct Point { int x, y; bool operator==(const Point &) const = default; };
int main() {
    std::vector<unsigned> list{3, 1};
    std::span<unsigned> view(list);
    std::atomic<unsigned> value{std::bit_floor(view[0])};
    Point point{.x = 1, .y = 2};
    return std::erase_if(list, [](Number auto each) { return each > 2; }) == value && point.x;
}
END
$cxx -std=c++20 -o "$probe/probe" "$probe/probe.cpp" >/dev/null 2>&1 ||
    fail "$cxx does not compile C++20; apt-get install g++-12, and run make CXX=g++-12 CC=gcc-12"
