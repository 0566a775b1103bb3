#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Formats every C and C++ source by .clang-format. Puts the license line at the beginning of
# these and of every source in Python, shell, make and CMake.
#
#   scripts/format.sh          rewrites files that differ
#   scripts/format.sh --check  changes nothing; fails and shows the differences
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

licence='SPDX-License-Identifier: Apache-2.0'

cxx_sources() {
  find horovodpp horovodrun bindings examples test -type f \
    \( -name '*.h' -o -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 \
    2>/dev/null
}
script_sources() {
  find . \( -path ./build -o -path ./.git -o -path ./.venv \) -prune -o -type f \
    \( -name '*.py' -o -name '*.sh' -o -name '*.cmake' -o -name CMakeLists.txt \
    -o -name Makefile \) -print0
}

# Prints the listed files that do not begin with the line $1. Only "#!" may precede it.
without_line() {
  xargs -0 -r awk -v line="$1" '
    FNR == 1 {
      if (missing) print name
      name = FILENAME
      missing = 1
      at = /^#!/ ? 2 : 1
    }
    FNR == at && $0 == line { missing = 0 }
    END { if (missing) print name }'
}

# Inserts the line $2 at the beginning of the file $1, after a "#!". The file keeps its
# mode.
begin_with() {
  if head -n 3 "$1" | grep -q 'SPDX-License-Identifier'; then
    echo "$1: names a licence, but not by the line '$2'" >&2
    return 1
  fi
  text=$(mktemp)
  sed -n '1 { /^#!/p; q; }' "$1" > "$text"
  shebang=$(wc -l < "$text")
  echo "$2" >> "$text"
  tail -n "+$((shebang + 1))" "$1" >> "$text"
  cat "$text" > "$1"
  rm "$text"
}

differs=0
for comment in '//' '#'; do
  case $comment in
    '//') sources=cxx_sources ;;
    *) sources=script_sources ;;
  esac
  line="$comment $licence"
  missing=$($sources | without_line "$line")
  [ -n "$missing" ] || continue
  if [ "$mode" != -i ]; then
    echo "$missing" | sed "s|\$|:1: does not begin with '$line'|" >&2
    differs=1
    continue
  fi
  while IFS= read -r file; do
    begin_with "$file" "$line" || differs=1
  done <<END
$missing
END
done

# shellcheck disable=SC2086
cxx_sources | xargs -0 -r -n 32 -P "$(nproc)" "$program" --style=file $mode || differs=1
exit $differs
