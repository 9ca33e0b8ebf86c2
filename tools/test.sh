#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test.sh: from a bare Debian 12 to all tests. Installs what they need, then, in ./build-tests (made anew, but for its venv):
#   1. a release build with gcc and -Werror, and all suites on it; of failed allocations each fifth (others each time: the
#      seed stands in the log), of flipped bits and of documents that CPython reads, too, 20,000 (all: --setup all);
#   2. a build with the address and undefined-behavior sanitizers (clang where it is complete, else gcc), all suites again
#      but for what is mostly work of Python or of a browser: the long runs that look closer at the same output, the commands
#      of the documents; of failed allocations each 23rd, of flipped bits 3,000, of documents 10,000;
#   3. on the release build: valgrind, installation, a program built against the installed library, meson dist.
# The last line says how many checks passed, failed and were skipped; the exit code is 0 when none failed.
# Optional inputs, skipped loudly where absent: AP_TRACES, a folder of real sample traces, and AP_JSON_TEST_SUITE, the
# documents of nst/JSONTestSuite; ../shared/traces and ../shared/json-test-suite are taken where they exist. AP_MCP_PYTHON, a
# Python with the package mcp; without it setup.sh tries to get one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

out=build-tests
failed_steps=()

say() { printf '\n=== %s\n' "$*"; }

step() { # TITLE COMMAND...
  say "$1"
  if ! "${@:2}"; then
    printf '*** FAILED: %s\n' "$1"
    failed_steps+=("$1")
    return 1
  fi
}

folder() { # WANTED BESIDE: the folder that a variable names, or the one beside the repository, or nothing
  if [ -n "$1" ]; then
    realpath -- "$1"
  elif [ -d "../shared/$2" ]; then
    realpath "../shared/$2"
  else
    printf '*** no %s: the tests that need it are skipped\n' "$2" >&2
  fi
}

can_sanitize() { # COMPILER [OPTION]: does a program that it instruments run, leak check included?
  local try
  try=$(mktemp -d) || return 1
  printf 'int main(void) { return 0; }\n' >"$try/try.c"
  "$@" -fsanitize=address,undefined -o "$try/try" "$try/try.c" 2>/dev/null && "$try/try" 2>/dev/null
  local code=$?
  rm -rf "$try"
  return $code
}

configure() { # FOLDER COMPILER OPTION...
  CC=$2 meson setup "$out/$1" --werror "${inputs[@]}" "${@:3}"
}

build_and_test() { # FOLDER COMPILER TITLE OPTION...
  step "$3: configure" configure "$1" "$2" "${@:4}" &&
    step "$3: build" ninja -C "$out/$1" all meson-test-prereq &&
    { # what fails there stands in its log
      say "$3: tests"
      meson test -C "$out/$1" --setup ci --no-rebuild --print-errorlogs --timeout-multiplier 4
    }
}

step "what the tests need" bash tools/setup.sh build test
inputs=("-Dtraces=$(folder "${AP_TRACES:-}" traces)"
  "-Djson_test_suite=$(folder "${AP_JSON_TEST_SUITE:-}" json-test-suite)")
[ -d "$out" ] && find "$out" -mindepth 1 -maxdepth 1 ! -name venv -exec rm -rf {} +

build_and_test release gcc 'release, gcc' --buildtype=release

sanitizer=clang
can_sanitize clang || { printf '\n*** clang cannot build with sanitizers here, gcc does it\n'; sanitizer=gcc; }
if ! can_sanitize "$sanitizer"; then
  printf '\n*** leaks cannot be looked for here: that check is off\n'
  leaks=0
fi
export ASAN_OPTIONS="detect_leaks=${leaks:-1}:detect_stack_use_after_return=1:strict_string_checks=1"
ASAN_OPTIONS+=:allocator_may_return_null=1
export UBSAN_OPTIONS='print_stacktrace=1'
can_sanitize "$sanitizer" -fuse-ld=gold && export CC_LD=gold # a hundred large programs, each in less than half the time
build_and_test sanitizers "$sanitizer" "sanitizers, $sanitizer" --buildtype=debugoptimized \
  -Db_sanitize=address,undefined -Db_lundef=false '-Dc_args=-fno-sanitize-recover=all -g1' # lines are all that is printed
unset CC_LD

if [ -x "$out/release/src/cli/analyze_profile" ]; then
  say 'release, gcc: valgrind, installation, meson dist'
  meson test -C "$out/release" --no-rebuild --print-errorlogs --logbase testlog-more --suite memcheck --suite package
fi

say 'all runs'
python3 tools/count_tests.py "$out" "${failed_steps[@]}"
