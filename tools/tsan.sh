#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tsan.sh [TEST...]: what runs on several threads under clang's thread sanitizer, in ./build-tsan: helpers that read ahead,
# passes side by side, whole reports with 1 to 16 threads, the server that is asked while it works. Whatever two threads
# touch without an order between them ends a test. Only what the tests need is built, in a minute or two; all that is new
# to the compiler each time, so tools/test.sh leaves it out.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(trace_ahead pass_runner threads.py mcp.py)

export TSAN_OPTIONS=halt_on_error=1
[ -f build-tsan/build.ninja ] ||
  CC=clang meson setup build-tsan --buildtype=debugoptimized -Doptimization=1 -Db_sanitize=thread -Db_lundef=false \
    -Dc_args=-g1 -Dmpi=disabled -Dcuda=disabled
meson test -C build-tsan --setup all --print-errorlogs --timeout-multiplier 8 "${tests[@]}"
