#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_clean.sh BUILD: what a packager does, in a temporary folder: installs BUILD, builds a program against the installed
# library with nothing but pkg-config, makes the source archive and builds that, and once more from what git knows: the same
# bytes have to come out. Prints TAP.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
cc=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 failed=0

check() { # CLAIM COMMAND...: what it prints is shown where it fails
  count=$((count + 1))
  if "${@:2}" >"$work/said" 2>&1 </dev/null; then
    echo "ok $count - $1"
  else
    failed=$((failed + 1))
    echo "not ok $count - $1"
    tail -n 40 "$work/said" | sed 's/^/#   /'
    return 1
  fi
}

skip() { # CLAIM WHY
  count=$((count + 1))
  echo "ok $count - $1 # SKIP $2"
}

# ------------------------------------------------------------------------------------------------ the installed library

sandbox() { # COMMAND...: with the installed library
  PKG_CONFIG_PATH="$(dirname "$pc")" LD_LIBRARY_PATH="$(dirname "$so")" "$@"
}

one_file() { # NAME: its path below the installation
  find "$work/root" -name "$1" | head -n 1
}

has_files() { # NAME...
  local name
  for name in "$@"; do
    [ -n "$(one_file "$name")" ] || { echo "not installed: $name"; return 1; }
  done
}

only_public_symbols() {
  local strange
  strange=$(nm -D --defined-only "$so" | awk '{ print $3 }' | while read -r symbol; do
    grep -qw -- "$symbol" "$root"/include/analyze_profile/*.h || echo "$symbol"
  done)
  [ -z "$strange" ] || { echo "shown, but in no public header: $strange"; return 1; }
}

write_user() {
  cat >"$work/user.c" <<'C'
#include <stdio.h>
#include <analyze_profile/analyze_profile.h>

int main(int argc, char **argv)
{
    struct ap_request request = { .cpu_trace_path = argc > 1 ? argv[1] : NULL };
    struct ap_report *report;
    struct ap_error error;
    if (ap_report_new(&request, &report, NULL, &error) != AP_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const struct ap_value *total = ap_value_at(ap_report_root(report), "cpu.summary.events_total");
    printf("%s: %lld events\n", ap_version(), (long long)ap_value_integer(total, -1));
    ap_report_free(report);
    return 0;
}
C
}

build_user() {
  local flags
  flags=$(sandbox pkg-config --define-variable=prefix="$prefix" --cflags --libs analyze_profile) || return 1
  # shellcheck disable=SC2086
  $cc -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$work/user" "$work/user.c" $flags
}

user_reads_a_trace() {
  local said version
  version=$(sandbox pkg-config --modversion analyze_profile) || return 1
  said=$(sandbox "$work/user" "$root/fixtures/recorded/training_step_cpu.json.gz") || return 1
  echo "$said"
  [[ $said == "$version: "[1-9]*" events" ]]
}

example_records() {
  local flags
  flags=$(sandbox pkg-config --define-variable=prefix="$prefix" --cflags --libs analyze_profile) || return 1
  python3 "$root/tests/take_block.py" "$root/references/guide/recorder.md" c "$work/example.c" || return 1
  # shellcheck disable=SC2086
  $cc -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$work/example" "$work/example.c" $flags || return 1
  (cd "$work" && sandbox ./example) && [ -s "$work/trace.json" ] && [ -s "$work/snapshot.json" ]
}

check_installation() {
  check 'meson install' env DESTDIR="$work/root" meson install -C "$build" --no-rebuild --quiet || return
  so=$(one_file 'libanalyze_profile.so')
  pc=$(one_file 'analyze_profile.pc')
  program=$(find "$work/root" -path '*/bin/analyze_profile')
  prefix=${program%/bin/analyze_profile}
  check 'program, library, headers, pkg-config file, man page and skill are installed' has_files analyze_profile.1 \
    analyze_profile.h record.h model.h error.h opener.h SKILL.md libanalyze_profile.so analyze_profile.pc || return
  check 'the library shows nothing but its public functions' only_public_symbols
  check 'the installed program starts' sandbox "$program" --version
  write_user
  check 'a program builds with what pkg-config says' build_user &&
    check 'and reads a trace' user_reads_a_trace
  check "the guide's example of a program that records itself builds and runs" example_records
}

# --------------------------------------------------------------------------------------------------- the source archive

why_no_archive() {
  command -v git >/dev/null || { echo 'git is not installed'; return; }
  git -C "$root" rev-parse --verify -q HEAD >/dev/null 2>&1 || { echo 'not a git checkout'; return; }
  [ "$(git -C "$root" rev-parse --show-toplevel)" -ef "$root" ] || { echo 'not a git checkout of its own'; return; }
  [ -z "$(git -C "$root" status --porcelain)" ] || echo 'THE WORKING TREE IS NOT COMMITTED: commit, then run this again'
}

build_archive() {
  local archive
  archive=$(find "$build/meson-dist" -name '*.tar.gz' -newer "$work/started" | head -n 1)
  "$root/tools/same_bytes.sh" --archive "$archive"
}

check_archive() {
  local why
  why=$(why_no_archive)
  if [ -n "$why" ]; then
    skip 'meson dist' "$why"
    git -C "$root" rev-parse --verify -q HEAD >/dev/null 2>&1 || return
    check 'two builds from two folders are the same bytes, and write a report' "$root/tools/same_bytes.sh"
    return
  fi
  touch "$work/started"
  check 'meson dist' meson dist -C "$build" --no-tests --formats gztar &&
    check 'the archive builds, as do the sources in another folder: the same bytes, which write a report' build_archive
}

check_installation
check_archive
echo "1..$count"
[ "$failed" -eq 0 ]
