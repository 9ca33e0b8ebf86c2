#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# example.sh: from a bare Debian 12 to a report. Installs what building needs, builds the program in ./build and prints
# its report on a recorded training step and a memory snapshot. The report is all that goes to standard output.
set -euo pipefail
cd "$(dirname "$0")/.."

trace=fixtures/recorded/training_step_cpu.json.gz
snapshot=fixtures/snapshots/fragmented.json
program=src/cli/analyze_profile

tools/setup.sh build
if [ ! -e build/build.ninja ]; then
  meson setup build >&2
fi
ninja -C build "$program" >&2
printf '\nbuild/%s --cpu-trace %s --memory-json %s\n\n' "$program" "$trace" "$snapshot" >&2
exec "build/$program" --cpu-trace "$trace" --memory-json "$snapshot"
