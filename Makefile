# SPDX-License-Identifier: BSD-3-Clause
# `make demo` and `make test` set everything up: an environment in .venv, builds in build/.
PYTHON ?= python3
JOBS ?= $(shell nproc)
RANKS ?= 4
# Of the demo's second run: the slow worker and how much slower, RANK:MILLISECONDS a step.
SLOW ?= 2:20
BENCH_OPTIONS ?= -n 2 --sizes 4:64M
# The kernels for GPUs compile for minutes: only if asked for, NVCC=/usr/local/cuda/bin/nvcc.
NVCC ?=

# Other environments and settings of the caller's Python must not leak into ours.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV CONDA_PREFIX
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV PIP_CONSTRAINT
unexport SKBUILD_CMAKE_DEFINE SKBUILD_CMAKE_ARGS CMAKE_ARGS CMAKE_GENERATOR
# Nor a job that make was started in.
unexport STRETTO_RANK STRETTO_SIZE STRETTO_JOB STRETTO_ALGORITHM STRETTO_ADDR STRETTO_FAKE_HOSTS
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PATH := $(CURDIR)/.venv/bin:$(PATH)

BIN := .venv/bin
BUILD_TOOLS := .venv/build.stamp
TOOLS := .venv/tools.stamp
INSTALLED := .venv/stretto.stamp

library_sources := CMakeLists.txt $(shell find src include mpi cmake third_party/nlohmann \
	third_party/monocypher -type f -not -name README.md)
python_sources := $(shell find python -type f -not -name '*.pyc' -not -name README.md)
c_files := $(shell find src include mpi python tests bench examples lab -type f \
	\( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.inl' \) \
	-not -path '*/.venv/*' -not -path '*/.build/*') $(shell find src -type f -name '*.cu')
python_files := python tests bench examples docs tools lab lab/cluster lab/reliability lab/rsh lab/soak lab/wakeups

.PHONY: demo test test-full test-cpp test-python test-torch test-torch-next test-lab test-mpi test-simgrid test-compilers test-aarch64 \
	test-rdma test-cuda test-glibc test-musl build-asan build-tsan test-asan test-tsan reliability bench format format-check lint install clean
.DELETE_ON_ERROR:

demo: $(INSTALLED)
	$(BIN)/stretto run --no-prefix -n $(RANKS) $(BIN)/python examples/digits/train.py --compare
	$(BIN)/stretto run --no-prefix -n $(RANKS) $(BIN)/python examples/digits/train.py \
		--steps 300 --slow $(SLOW)

# ---- the environment and the package

# pip_install(extras, what they are): Python compiles a module when a program imports it first.
pip_install = $(BIN)/python tools/requirements.py $(1) > .venv/requirements.txt && \
	echo "installing $(2) into .venv" && \
	$(BIN)/python -m pip install --quiet --no-compile -r .venv/requirements.txt
$(BUILD_TOOLS): pyproject.toml tools/requirements.py tools/check_machine.sh
	@tools/check_machine.sh $(PYTHON)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(call pip_install,build demo,build tools)
	@touch $@

# What the tests need as well.
$(TOOLS): $(BUILD_TOOLS)
	@$(call pip_install,build demo bench dev,test tools)
	@touch $@

# In the folder where the tests are built as well, which need most of the same.
WERROR ?= TESTED
# The same ninja for all: one of another version would compile everything anew.
cmake_options := -DSTRETTO_TESTS=ON -DSTRETTO_WERROR=$(WERROR) -DSTRETTO_NVCC=$(NVCC) -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
package_options = -DSTRETTO_BENCH=ON -DSTRETTO_PYTHON=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python)
targets := stretto;stretto_mpi;stretto_core
# It takes minutes: a terminal shows how far it is.
$(INSTALLED): $(BUILD_TOOLS) $(library_sources) $(python_sources) README.md LICENSE
	@echo "building and installing stretto into .venv"
	@$(call build,test,$(package_options),$(subst ;, ,$(targets)),$(if $(MAKE_TERMOUT),,--quiet))
	@CMAKE_ARGS="$(cmake_options) $(package_options)" $(BIN)/python -m pip install --quiet \
		--no-build-isolation --no-deps --force-reinstall -C build-dir=build/test -C "build.targets=$(targets)" .
	@touch $@

install: $(INSTALLED) $(TOOLS)

# ---- tests

comma := ,
# build(folder, options, targets, how ninja talks): configures, builds what has changed.
build = $(BIN)/cmake -S . -B build/$(1) -G Ninja $(cmake_options) $(2) --log-level=WARNING > /dev/null && \
	$(BIN)/ninja -C build/$(1) -j $(JOBS) $(or $(4),--quiet) $(3)
ctest = $(BIN)/ctest --test-dir build/$(1) --output-on-failure --timeout 900 $(2)
sanitize = -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1" \
	-DSTRETTO_SANITIZE=$(1)
# What runs under both sanitizers always: where threads of one process share more than a segment, which
# each rank maps at an address of its own.  The rest: make test-full.
threaded_tests := transport transports engine hosts api_nonblocking api_failures api_late_ranks api_shrink \
	api_trace api_polling api_timeouts api_threads api_abort api_notify trace membership membership_agent \
	deferred deferred_nonblocking device_calls device_capture device_contexts device_default_stream device_failing device_order device_peers device_pipeline \
	device_processes device_reductions device_nonblocking device_standstill device_messages_in_place \
	device_ordered_messages device_ordered_messages_failing device_ordered_messages_apart
threaded_over_hosts := api_phases api_stall
# Where the address sanitizer alone watches: what goes through the same threads with other calls and values.
memory_tests := $(threaded_tests) net api_collectives api_errors api_costs api_messages api_parts api_communicators \
	api_children api_exchanges api_message_programs api_peers api_memory api_memory_messages api_shrink_failures \
	api_xpmem api_start programs api_attach api_ops api_reproducible api_arguments device_launching device_memory device_one_pass \
	device_random_calls
memory_over_hosts := $(threaded_over_hosts) api_trials api_arrivals
# (tests, those that run over hosts): their executables, and what picks them.
executables = $(1:%=test_%) $(2:%=test_%)
only = -R '^($(subst $() ,|,$(strip $(1) $(2:%=%_hosts))))$$'

# Many tests wait: meanwhile, at the lowest priority, the builds with sanitizers compile.
test: $(INSTALLED) $(TOOLS)
	@mkdir -p build; \
	nice -n 19 $(MAKE) --no-print-directory build-asan build-tsan > build/sanitizers.log 2>&1 & compiling=$$!; \
	trap 'kill $$compiling 2> /dev/null' INT TERM; \
	$(MAKE) --no-print-directory test-cpp test-python test-torch test-lab || { kill $$compiling; exit 1; }; \
	wait $$compiling || { cat build/sanitizers.log; exit 1; }
	@$(MAKE) --no-print-directory test-asan test-tsan
	@echo "all tests passed"

test-full: test-cpp
	$(call build,asan,$(call sanitize,address$(comma)undefined) -DSTRETTO_KERNELS=all -DSTRETTO_SANITIZE_ALL=ON -DSTRETTO_PURE_FROM=)
	$(call ctest,asan)
	$(call build,tsan,$(call sanitize,thread) -DSTRETTO_KERNELS=all)
	$(call ctest,tsan)
	$(call build,apart,-DSTRETTO_TOGETHER=OFF,stretto)
	STRETTO_TEST_FULL=1 $(call ctest,test,--timeout 7200)
	STRETTO_TEST_FULL=1 $(MAKE) test-python test-torch test-lab test-mpi
	STRETTO_TORCH_MODE=compiled $(MAKE) test-torch

test-cpp: $(INSTALLED)
	$(call build,test,-DSTRETTO_BENCH=ON)
	$(call ctest,test,-j $(JOBS))

test-python: $(INSTALLED) $(TOOLS)
	$(BIN)/python -m pytest -n $(JOBS)

# Hosts made of namespaces: skipped, with the reason, without root.
test-lab: $(INSTALLED) $(TOOLS)
	$(BIN)/python -m pytest tests/lab

# PyTorch is in a folder of its own, so that all other tests run without it.
torch_tests = if tools/torch.sh $@ $(BIN)/python build/torch-$(1) "$(2)"; then \
	PYTHONPATH=$(abspath build/torch-$(1)) $(BIN)/python -m pytest -n $(JOBS) tests/pytorch; fi

# The build without CUDA (+cpu): others are larger by gigabytes.
test-torch: $(INSTALLED) $(TOOLS)
	@$(call torch_tests,2.13,torch==2.13.0+cpu)

# The first releases that have backends in Python.  TORCH_NEXT=torch==2.14.1 takes 5 GB.
TORCH_NEXT ?= torch==2.14.1+cpu
test-torch-next: $(INSTALLED) $(TOOLS)
	@$(call torch_tests,next,$(TORCH_NEXT))

# Unchanged MPI programs: under the libraries that PyPI has, and those of the system if it has any.
test-mpi: $(INSTALLED) $(TOOLS)
	$(BIN)/python -m pytest tests/mpi

# One instruction set will do here, and the address sanitizer for what ranks share: all of it compiles
# for minutes (test-full).  Rooms that it leaves out were compiled for the package.
build-asan: $(INSTALLED)
	$(call build,asan,$(call sanitize,address$(comma)undefined) -DSTRETTO_KERNELS=baseline -DSTRETTO_SANITIZE_ALL=OFF -DSTRETTO_PURE_FROM=$(abspath build/test),$(call executables,$(memory_tests),$(memory_over_hosts)))

build-tsan: $(BUILD_TOOLS)
	$(call build,tsan,$(call sanitize,thread) -DSTRETTO_KERNELS=baseline,$(call executables,$(threaded_tests),$(threaded_over_hosts)))

test-asan: build-asan
	$(call ctest,asan,-j $(JOBS) $(call only,$(memory_tests),$(memory_over_hosts)))

test-tsan: build-tsan
	$(call ctest,tsan,-j $(JOBS) $(call only,$(threaded_tests),$(threaded_over_hosts)))

# Warnings are errors, with each GCC from 12 and Clang from 15 on that is installed, or those that
# COMPILERS names by their C++ compilers.
test-compilers: $(BUILD_TOOLS)
	tools/check_compilers.sh $(BIN)/cmake $(BIN)/ninja $(abspath $(BIN)/python) $(JOBS) build/compilers

# The C++ tests on 64-bit Arm, under QEMU.  tests/cpp/emulated.cmake names the cases that it cannot run.
test-aarch64: $(BUILD_TOOLS)
	@tools/need.sh $@ aarch64-linux-gnu-g++=g++-aarch64-linux-gnu qemu-aarch64=qemu-user
	$(call build,aarch64,--toolchain cmake/toolchains/aarch64-linux-gnu.cmake)
	@cat build/aarch64/not_emulated.txt
	$(call ctest,aarch64,-j $(JOBS) --timeout 7200)

# Zig's compilers know the interfaces of other versions of glibc; they are installed from PyPI into
# .venv.
ZIG := .venv/zig.stamp
$(ZIG): $(BUILD_TOOLS)
	@$(call pip_install,portable,Zig)
	@touch $@
zig = build/zig/$(1)
with_zig = -DCMAKE_C_COMPILER=$(abspath $(zig))/cc -DCMAKE_CXX_COMPILER=$(abspath $(zig))/c++

# The library and the preload where glibc is 2.28, as for wheels of manylinux_2_28: nothing newer is
# declared or linked.
test-glibc: $(ZIG)
	@tools/need.sh $@ readelf=binutils
	@tools/zig_compilers.sh $(BIN)/python gnu.2.28 $(call zig,glibc)
	$(call build,glibc,$(call with_zig,glibc) -DSTRETTO_KERNELS=baseline,stretto stretto_mpi)
	$(BIN)/python tools/check_symbols.py build/glibc/src/api/libstretto.so build/glibc/mpi/libstretto_mpi.so

# The library with musl, and a C program that loads it by musl's loader (Debian: musl).
test-musl: $(INSTALLED) $(ZIG)
	@tools/need.sh $@ /lib/ld-musl-$(shell uname -m).so.1=musl
	@tools/zig_compilers.sh $(BIN)/python musl $(call zig,musl)
	$(call build,musl,$(call with_zig,musl) -DSTRETTO_KERNELS=baseline,stretto)
	$(call zig,musl)/cc -O2 tests/musl/sums.c -Iinclude -Lbuild/musl/src/api -lstretto \
		-Wl,-rpath,$(abspath build/musl/src/api) -o build/musl/sums
	for ranks in 1 2 3; do $(BIN)/stretto run -n $$ranks build/musl/sums || exit 1; done

# The tests over UCX once more, over verbs: a virtual machine with a soft RoCE device, and UCX of a
# release of Debian (empty: the installed one).
UCX_RELEASE ?= trixie
test-rdma: $(INSTALLED)
	@tools/need.sh $@ qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio rdma=iproute2 depmod=kmod
	$(call build,test,-DSTRETTO_BENCH=ON)
	$(BIN)/python tests/rdma/run.py --build build/test --ctest $(BIN)/ctest --folder build/rdma \
		$(if $(UCX_RELEASE),--release $(UCX_RELEASE))

# The kernels for GPUs, which no machine without one runs: nvcc compiles them, and they are all there.
nvcc = "$$(echo $(CURDIR)/build/nvcc/nvidia/cu*/bin/$(1))"
test-cuda: $(BUILD_TOOLS)
	@if tools/nvcc.sh $@ $(BIN)/python build/nvcc; then \
	$(call build,cuda,-DSTRETTO_KERNELS=baseline -DSTRETTO_NVCC=$(call nvcc,nvcc),stretto_cuda_kernels) && \
	$(BIN)/python tools/check_cuda.py build/cuda/src/api/stretto_cuda.fatbin $(call nvcc,cuobjdump); fi

# The simulator beside SimGrid, which has to be there (Debian: libsimgrid-dev).
test-simgrid: $(BUILD_TOOLS)
	$(call build,simgrid,-DSTRETTO_SIMGRID=ON -DSTRETTO_KERNELS=baseline,stretto_simgrid)
	$(call ctest,simgrid,-R '^simgrid$$')

# What docs/reliability.md shows: about an hour, as root.
reliability: $(INSTALLED) $(TOOLS)
	lab/reliability failures
	lab/reliability splits
	lab/reliability strangers
	lab/soak

# ---- the rest

bench: install
	$(BIN)/stretto bench $(BENCH_OPTIONS)

format: $(TOOLS)
	$(BIN)/clang-format -i $(c_files)
	$(BIN)/ruff format $(python_files)
	$(BIN)/ruff check --fix $(python_files)

format-check: $(TOOLS)
	@$(BIN)/clang-format --dry-run -Werror $(c_files)
	$(BIN)/ruff format --check $(python_files)

lint: $(TOOLS)
	$(BIN)/ruff check $(python_files)
	$(BIN)/python tools/check_house.py
	$(BIN)/python tools/rooms.py --check

clean:
	rm -rf .venv build
