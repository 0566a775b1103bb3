#!/bin/sh
# Lays out every C++ source as .clang-format says.
#
#   scripts/format.sh          rewrites what differs
#   scripts/format.sh --check  changes nothing; fails and shows what differs
set -eu

cd "$(dirname "$0")/.."
program=$(command -v clang-format-14) || {
  echo "format.sh: clang-format-14 is not installed; other versions lay the" \
    "same code out differently. scripts/install_dependencies.sh test" >&2
  exit 1
}
case ${1-} in
  '') mode=-i ;;
  --check) mode='--dry-run --Werror' ;;
  *)
    echo "usage: $0 [--check]" >&2
    exit 2
    ;;
esac

# shellcheck disable=SC2086
find horovodpp horovodrun bindings examples test \
  \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 \
  2>/dev/null | xargs -0 "$program" --style=file $mode
