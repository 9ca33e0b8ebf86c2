#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# example.sh: from a bare Debian 12 to a report. Installs what building needs, builds the program in ./build, writes its
# report on a recorded training step and a memory snapshot to build/report.html, and prints one screen of it. That screen
# is all that goes to standard output.
set -euo pipefail
cd "$(dirname "$0")/.."

trace=fixtures/recorded/training_step_cpu.json.gz
snapshot=fixtures/snapshots/fragmented.json
program=src/cli/analyze_profile
report=build/report.html

tools/setup.sh build
if [ ! -e build/build.ninja ]; then
  meson setup build >&2
fi
ninja -C build "$program" >&2
printf '\nbuild/%s %s %s --html-out %s\n\n' "$program" "$trace" "$snapshot" "$report" >&2
exec "build/$program" "$trace" "$snapshot" --html-out "$report"
