# SPDX-License-Identifier: Apache-2.0
# A thin front over the CMake presets: `make help`.

# Tools that install_dependencies.sh brought go before the system's.
export PATH := $(CURDIR)/build/tools/bin:$(PATH)
SHELL := /bin/sh

# A compilation takes up to 1.5 GB.
JOBS ?= $(shell awk -v cores=$$(nproc) '/^MemAvailable/ \
  { jobs = int($$2 / 1500000); if (jobs > cores) jobs = cores } \
  END { print jobs < 1 ? 1 : jobs }' /proc/meminfo)
RANKS ?= 2

BUILDS := dev asan tsan
RELEASE := build/release

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all format tidy clean

help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo:  ## Train on Fashion-MNIST with two ranks (RANKS=n: with n)
	@scripts/install_dependencies.sh demo
	@$(call build,release) --target horovodrun fashion_mnist
	$(RELEASE)/horovodrun/horovodrun -np $(RANKS) $(RELEASE)/examples/cpp/fashion_mnist $(ARGS)

test:  ## Build and run every test, also under sanitizers
	@scripts/install_dependencies.sh packages
	@scripts/build_and_test.py --jobs $(JOBS) $(BUILDS)

test-all:  ## The same, with the tests that take sanitizers long: before a release
	@scripts/install_dependencies.sh packages
	@scripts/build_and_test.py --all --jobs $(JOBS) $(BUILDS)

format:  ## Format every source by .clang-format
	@scripts/format.sh

tidy:  ## Run all of clang-tidy over every source by itself
	@cmake --preset dev -B build/tidy -DCMAKE_UNITY_BUILD=OFF \
	  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON --log-level=WARNING > /dev/null
	@run-clang-tidy -quiet -j $(JOBS) -p build/tidy '$(CURDIR)/(horovodpp|horovodrun|examples|test)/'

clean:  ## Remove the builds
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name tools -exec rm -rf {} +

# Configures and builds the preset $(1).
build = echo "== preset $(1)" && cmake --preset $(1) --log-level=WARNING > /dev/null && \
  cmake --build --preset $(1) -j $(JOBS)
