#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the tests and benchmarks of GPUs, without MPI, runs them on this machine's GPUs,
# and prints a table.
#
#   scripts/gpu_check.sh              needs CUDA's toolkit and driver, CMake, a C++ compiler,
#                                     the libraries of CONTRIBUTING.md, and Python; NCCL's
#                                     rows need NCCL (HOROVODPP_NCCL_LIBRARY names its file;
#                                     otherwise that of PYTHON's torch is taken, if it has one)
#   scripts/gpu_check.sh --stand-in   the same with the fake CUDA driver, of which
#                                     the numbers say nothing: to try the script
#
# PYTHON names the Python that has torch and nanobind; without them torch's rows stay empty.
# BUILD is the build folder (build/gpu). LIBRARIES is a folder of
# scripts/gather_libraries.sh, on a machine that lacks the libraries.
set -eu

cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
build=${BUILD:-build/gpu}

libraries=
if [ -n "${LIBRARIES-}" ]; then
  folder=$(cd "$LIBRARIES" && echo "$PWD"/usr/lib/*-linux-gnu)
  libraries="-DCMAKE_PREFIX_PATH=$(cd "$LIBRARIES/usr" && pwd) -DCMAKE_LIBRARY_PATH=$folder/blas"
  export LD_LIBRARY_PATH="$folder:$folder/blas${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
if [ -z "${HOROVODPP_NCCL_LIBRARY-}" ]; then
  nccl=$("$python" -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])' 2>/dev/null ||
    true)/lib/libnccl.so.2
  if [ -e "$nccl" ]; then export HOROVODPP_NCCL_LIBRARY="$nccl"; fi
fi

with_python=OFF
if "$python" -c 'import nanobind' 2>/dev/null; then with_python=ON; fi
# shellcheck disable=SC2086  # A list of words.
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON \
  -DHVD_WITH_MPI=OFF -DHVD_WITH_DNNL=OFF -DHVD_BUILD_EXAMPLES=OFF -DHVD_BUILD_TESTS=ON \
  -DHVD_BUILD_PYTHON=$with_python -DPython_EXECUTABLE="$(command -v "$python")" $libraries
targets='device_test collective_job_test fake_cuda fake_nccl gpu_benchmark horovodrun'
if [ $with_python = ON ]; then targets="$targets horovodpp_python"; fi
# shellcheck disable=SC2086
cmake --build "$build" -j "$(nproc)" -t $targets
exec "$python" scripts/gpu_check.py --build "$build" "$@"
