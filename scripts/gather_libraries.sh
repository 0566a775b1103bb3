#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Gathers the libraries that scripts/gpu_check.sh builds with, for a machine with a GPU,
# CUDA, CMake, a C++ compiler, Python and torch on which nothing can be installed.
#
#   scripts/gather_libraries.sh FOLDER           on a machine with apt, of the same or an older
#                                                release
#   LIBRARIES=FOLDER scripts/gpu_check.sh        on the other one
#
# FOLDER is created; nothing is installed. It takes about 25 MB.
set -eu

fail() {
  echo "gather_libraries: $*" >&2
  exit 1
}

[ $# -eq 1 ] || fail "usage: $0 FOLDER"
command -v apt-get >/dev/null || fail "this system has no apt"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ -z "$(ls -A "$folder")" ] || fail "$folder is not empty"

# A small BLAS: no measured code uses it.
wanted='libabsl-dev libspdlog-dev libhwy-dev libblas-dev libyaml-cpp-dev libsodium-dev
  nlohmann-json3-dev zlib1g-dev libgtest-dev libgmock-dev'
# Packages that every system with a compiler has.
there='libc6|libc6-dev|libc-dev|libgcc-s1|libstdc\+\+6|gcc-.*|catch2|googletest'

# The dependencies of the packages "$@".
needs() {
  apt-cache depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances "$@" | sed -n 's/^ *|\{0,1\}Depends: \([a-z0-9][^: ]*\).*/\1/p' |
    grep -vxE "$there" || true
}

packages=
next=$wanted
while [ -n "$next" ]; do
  packages=$(printf '%s\n' $packages $next | sort -u)
  # shellcheck disable=SC2086  # A list of words.
  next=$(needs $packages | grep -vxF "$packages" || true)
done

archives=$folder/archives
mkdir "$archives"
# As root apt-get warns that it did not become another user.
# shellcheck disable=SC2086
(cd "$archives" && apt-get -o APT::Sandbox::User=root download -q $packages) || fail "apt-get could not download" $packages
for archive in "$archives"/*.deb; do dpkg-deb -x "$archive" "$folder"; done
rm -r "$archives" "$folder/usr/share/doc"

# As an installation would: the BLAS and its header get their names by links.
cd "$folder/usr/include/"*-linux-gnu
if [ ! -e cblas.h ]; then ln -s cblas-netlib.h cblas.h; fi
# Replaces links by links to the system's libraries.
cd "$folder/usr/lib/"*-linux-gnu
for link in *.so; do
  if [ -L "$link" ] && [ ! -e "$link" ]; then
    ln -sf "$(basename "$(readlink "$link")")" "$link"
  fi
done
if [ -d "$folder/lib" ]; then cp -an "$folder"/lib/*-linux-gnu/. .; fi
