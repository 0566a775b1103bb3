#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs with apt the missing packages for building horovodpp.
#
#   scripts/install_dependencies.sh demo   to build the library and run the demo
#   scripts/install_dependencies.sh test   to build and run the tests as well
#
# `test` has two parts that you can also request alone: `packages`, of the distribution, and
# `tools`, which only the preset `dev` needs.
#
# For tests it also installs into build/tools:
# - python: PyTorch and the other packages for building and testing the Python package, by pip;
# - site: the tools of the documentation site and its figures;
# - mpich and openmpi5: two further MPIs;
# - gpu_headers: the headers of CUDA and NCCL.
# If that fails, their tests are skipped, and ctest says so.
#
# If all are installed, the script returns at once. If the distribution's CMake is too old (Ubuntu
# 22.04), a newer one is installed into build/tools/bin, which the Makefile puts first in PATH.
set -eu

oldest_cmake=3.25
oldest_gcc=12
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/build/tools

for_demo='g++ cmake ninja-build ccache pkg-config libopenmpi-dev openmpi-bin
  libabsl-dev libspdlog-dev libhwy-dev libopenblas-dev libdnnl-dev libcli11-dev
  libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev libsodium-dev libpng-dev libjpeg62-turbo-dev
  python3 dataset-fashion-mnist'
for_test='libgtest-dev libgmock-dev libbenchmark-dev libucx-dev clang clang-tidy mold valgrind
  python3-venv python3-dev doxygen debootstrap dpkg-dev iproute2 openssh-client openssh-server'

say() { echo "install_dependencies: $*"; }
fail() {
  say "$*" >&2
  exit 1
}

usage="usage: $0 demo|test|packages|tools"
case ${1-} in
  demo) wanted=$for_demo ;;
  test | packages) wanted="$for_demo $for_test" ;;
  tools) wanted= ;;
  *)
    echo "$usage" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  fail "this system has no apt. Please install what these Debian packages" \
    "hold, then build with the CMake presets (see CONTRIBUTING.md):" $wanted \
    "- CMake >= $oldest_cmake, and g++ >= $oldest_gcc or Clang >= 14"
fi

if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo >/dev/null; then
  as_root=sudo
else
  as_root=none
fi

installed() {
  case $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) in
    installed*) return 0 ;;
  esac
  return 1
}

# Sets `missing` to the named packages that are not installed.
missing_of() {
  missing=
  for package in "$@"; do
    installed "$package" || missing="$missing $package"
  done
}

updated=
install() {
  missing_of "$@"
  [ -n "$missing" ] || return 0
  [ "$as_root" != none ] || fail "missing:$missing. Neither root nor sudo is" \
    "here: run 'apt-get install$missing' as root, then try again"
  say "installing with apt${as_root:+ (sudo)}:$missing"
  if [ -z "$updated" ]; then
    $as_root apt-get update -q || fail "apt-get update failed"
    updated=yes
  fi
  # shellcheck disable=SC2086  # A list of words.
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends $missing ||
    fail "apt-get could not install:$missing"
}

# Whether version $1 is at least version $2.
at_least() { dpkg --compare-versions "$1" ge "$2"; }

# shellcheck disable=SC2086
install $wanted

if [ "$1" = test ] || [ "$1" = packages ]; then
  # By its number: other versions format code differently. If this version does not exist,
  # its tests do not run, and ctest says so.
  if ! installed clang-format-14 && apt-cache show clang-format-14 >/dev/null 2>&1; then
    install clang-format-14
  fi
  # Where there is no Slurm, its tests are skipped, and ctest says so.
  if apt-cache show slurmctld slurmd slurm-client munge >/dev/null 2>&1; then
    install slurmctld slurmd slurm-client munge
  fi
  # A browser for the page of a report: if there is none, its test is skipped.
  if apt-cache show chromium >/dev/null 2>&1; then
    install chromium
  fi
  # An old PyTorch, next to the newest: if there is none, its tests are skipped.
  if apt-cache show python3-torch libtorch-dev >/dev/null 2>&1; then
    install python3-torch libtorch-dev python3-numpy python3-pytest
  fi
  # If Clang's package does not depend on its sanitizers.
  if ! ls "$(clang -print-resource-dir)"/lib/*/libclang_rt.asan* >/dev/null 2>&1; then
    version=$(clang -dumpversion)
    install "libclang-rt-${version%%.*}-dev"
  fi
fi

# Creates a Python environment in build/tools/$1 with the packages of the list $2; again
# when the list changes. On failure prints $3.
environment() {
  python=$tools/$1
  list=$root/$2
  if cmp -s "$list" "$python/installed.txt"; then return 0; fi
  say "putting what $2 lists into $python with pip"
  rm -rf "$python"
  if python3 -m venv "$python" &&
    "$python/bin/pip" install --quiet --disable-pip-version-check -r "$list"; then
    cp "$list" "$python/installed.txt"
  else
    say "that failed: $3 will be skipped" >&2
    rm -rf "$python"
  fi
}
if [ "$1" = test ] || [ "$1" = tools ]; then
  # In parallel: each mostly waits for the network, or for one core.
  environment python test/bindings/requirements.txt \
    "the tests of the Python package, and those that compare with PyTorch," &
  environment gpu_headers test/device/headers.txt \
    "the comparisons of declarations with the headers of CUDA and NCCL" &
  environment mpich test/mpi_flavors/mpich.txt "the tests with MPICH" &
  environment openmpi5 test/mpi_flavors/openmpi5.txt "the tests with Open MPI 5" &
  environment site scripts/site/requirements.txt "the tests of the documentation site and its figures" &
  wait
fi
[ "$1" != tools ] || exit 0

if ! at_least "$(g++ -dumpfullversion)" "$oldest_gcc"; then
  install "g++-$oldest_gcc"
  # CMake looks for c++ first.
  mkdir -p "$tools/bin"
  ln -sf "$(command -v "g++-$oldest_gcc")" "$tools/bin/c++"
fi

cmake_version() {
  "$1" --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p'
}
if ! at_least "$(cmake_version cmake)" "$oldest_cmake" &&
  ! at_least "$(cmake_version "$tools/bin/cmake")" "$oldest_cmake"; then
  say "CMake $(cmake_version cmake) is older than $oldest_cmake:" \
    "putting a newer one into $tools with pip"
  install python3-venv
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" install --quiet "cmake>=$oldest_cmake,<4"
  mkdir -p "$tools/bin"
  ln -sf "$tools/venv/bin/cmake" "$tools/venv/bin/ctest" "$tools/bin/"
fi
