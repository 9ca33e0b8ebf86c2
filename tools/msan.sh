#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# msan.sh [TEST...]: the whole program under clang's memory sanitizer, in ./build-msan: whatever is used before it was
# written ends a test. All code has to be built for it, so zlib, cmark and the part of zstd that reads are built from
# Debian's sources; ISA-L (assembly), xz and SQLite are left out, and with them what reads through them.
# tests/support/msan_calls.c tells of calls that the sanitizer does not know.
#
# Runs the unit and fuzz suites (every corpus with some thousand changes) and the golden runs, or the TESTs that are named.
# Its last lines say what ran and what came of it, so that it can be run part by part.
# Builds and tests for more than a quarter of an hour, so tools/test.sh leaves it out.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/build-msan
sanitize='-fsanitize=memory -fsanitize-memory-track-origins -fno-omit-frame-pointer'
compile_library="clang $sanitize -O1 -g -fPIC"

. tools/source_libraries.sh

say() { printf '\n=== %s\n' "$*"; }

tests=("$@")
if [ ${#tests[@]} -eq 0 ]; then
  tests=(--suite unit --suite fuzz)
  scripts=(golden.py cuts.py odd_documents.py cluster.py other_profiles.py other_traces.py)
fi

say 'sources and libraries'
command -v dpkg-source >/dev/null || install_packages dpkg-dev
mkdir -p "$folder"
fetch_sources
[ -f "$folder/lib/libzstd.pc" ] || build_libraries
$compile_library -Wall -Wextra -c tests/support/msan_calls.c -o "$folder/msan_calls.o"

say 'program and tests'
link=$folder/msan_calls.o
for call in fstat64 stat64 lstat64 fstatat64 getentropy; do link+=" -Wl,--wrap=$call"; done
[ -f "$folder/build/build.ninja" ] ||
  CC="clang $sanitize" PKG_CONFIG_LIBDIR=$folder/lib meson setup "$folder/build" --buildtype=debugoptimized \
    -Db_sanitize=memory -Db_lundef=false -Dc_args=-fno-sanitize-recover=all -Dc_link_args="$link" \
    -Dinflate=zlib -Dnsys=disabled -Dxz=disabled -Dmpi=disabled -Dcuda=disabled
ninja -C "$folder/build" all meson-test-prereq

# What ran and what came of it, a line for each result, also where one failed.
tell_what_ran() {
  say 'what ran'
  python3 -c 'import json, sys
tests = [json.loads(line) for path in sys.argv[1:] for line in open(path, encoding="utf-8")]
for result in sorted({test["result"] for test in tests}):
    names = sorted(test["name"] for test in tests if test["result"] == result)
    print(f"{result}: {len(names)}: " + ", ".join(names))' "$folder"/build/meson-logs/msan-*.json
}

run_tests() { # NAME OF THE LOG, TEST...
  meson test -C "$folder/build" --no-rebuild --print-errorlogs --timeout-multiplier 8 --logbase "msan-$1" "${@:2}"
}

say 'tests'
rm -f "$folder"/build/meson-logs/msan-*
trap tell_what_ran EXIT
run_tests tests "${tests[@]}"
[ -z "${scripts:-}" ] || run_tests scripts "${scripts[@]}"
