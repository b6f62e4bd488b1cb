#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compiles the library, the preload, the Python module and some tests, warnings being errors, with each
# compiler from GCC 12 and Clang 15 on that is installed, and runs the tests of the kernels and of the
# plans of different ranks, which must fit together in whatever order a compiler evaluates arguments.
# Prints version and seconds of each.
# Arguments: cmake, ninja, python, jobs, and where to build.  COMPILERS names others to try.
set -u
cmake=$1 ninja=$2 python=$3 jobs=$4 builds=$5
known="g++-12 g++-13 g++-14 g++-15 g++-16 \
clang++-15 clang++-16 clang++-17 clang++-18 clang++-19 clang++-20 clang++-21 clang++-22"
targets="stretto stretto_mpi stretto_core test_reduce test_base test_engine test_plans test_api_data"
passed= failed= skipped=
for cxx in ${COMPILERS:-$known}; do
    cc=$(echo "$cxx" | sed 's/clang++/clang/; s/g++/gcc/')
    if ! command -v "$cxx" > /dev/null || ! command -v "$cc" > /dev/null; then
        skipped="$skipped $cxx"
        continue
    fi
    build=$builds/$(basename "$cxx")
    echo "$cxx ($("$cxx" -dumpfullversion 2> /dev/null || "$cxx" -dumpversion)): compiling in $build"
    began=$(date +%s)
    if "$cmake" -S . -B "$build" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
        -DSTRETTO_WERROR=ON -DSTRETTO_TESTS=ON -DSTRETTO_PYTHON=ON \
        -DPython_EXECUTABLE="$python" --log-level=WARNING > /dev/null &&
        "$ninja" -C "$build" -j "$jobs" --quiet $targets &&
        "$build/tests/cpp/test_reduce" --minimal &&
        "$build/tests/cpp/test_plans" --minimal; then
        passed="$passed $cxx"
    else
        failed="$failed $cxx"
    fi
    echo "$cxx: $(($(date +%s) - began)) s"
done
echo "compiled without warnings:${passed:- none}"
echo "not installed, skipped:${skipped:- none}"
if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
if [ -z "$passed" ]; then
    echo "no compiler to check was found; install one of Debian's packages:" ${COMPILERS:-$known} |
        sed 's/clang++/clang/g' >&2
    exit 1
fi
