#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# setup.sh [build] [python] [test]: installs the Debian packages that building, a Python environment for pip install, or the
# tests, need and that are missing.
# Does nothing when all of them are there. Uses sudo only when the user is not root. Without an argument: build.
# test also tries to put the Python SDK of the Model Context Protocol into build-tests/venv; tests skip it where that fails.
set -euo pipefail

# What the program needs. ISA-L does not exist for every architecture; without it zlib does the work. Without SQLite exports
# of Nsight Systems are refused.
build_packages=(gcc libc6-dev meson ninja-build pkg-config python3 zlib1g-dev libcmark-dev)
build_wanted=(libisal-dev libzstd-dev liblzma-dev libsqlite3-dev)
# What the tests need besides: a second compiler with its sanitizers, a schema validator, a memory checker, a watcher of
# calls, git for meson dist, groff to check the man page, clang-format for the style, a browser to look at the HTML report,
# MPI for the program on many machines, the sources of a locale with a decimal comma.
test_packages=(clang python3-jsonschema git ca-certificates xz-utils)
test_wanted=(clang-format libclang-rt-dev valgrind strace groff-base chromium fonts-dejavu-core python3-venv libopenmpi-dev
  openmpi-bin locales)

say() { printf 'setup: %s\n' "$*" >&2; }

installed() { # PACKAGE
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

available() { # PACKAGE
  [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]
}

install() { # PACKAGE...
  [ $# -eq 0 ] && return
  say "installs: $*"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 install -y -qq --no-install-recommends "$@" </dev/null >&2
}

python_sdk() {
  local venv
  venv=$(dirname "$0")/../build-tests/venv
  [ -n "${AP_MCP_PYTHON:-}" ] && return
  "$venv/bin/python3" -c 'import mcp.client.stdio' 2>/dev/null && return
  say "fetches the Python package mcp from PyPI into build-tests/venv"
  if ! { python3 -m venv "$venv" &&
    timeout 240 "$venv/bin/pip" install --quiet --retries 1 --timeout 15 'mcp>=1.9,<3'; } >&2; then
    say "*** the Python package mcp is not to be had here: the session with it is skipped"
    rm -rf "$venv"
  fi
}

packages() {
  local required=() wanted=() missing=() lacking=() name
  for name in "${@:-build}"; do
    case $name in
      build) required+=("${build_packages[@]}"); wanted+=("${build_wanted[@]}") ;;
      python) required+=(python3-venv) ;;
      test) required+=("${test_packages[@]}"); wanted+=("${test_wanted[@]}") ;;
      *) say "usage: tools/setup.sh [build] [python] [test]"; exit 2 ;;
    esac
  done
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "no apt-get here: have these installed, under the names your system gives them: ${required[*]} ${wanted[*]}"
    return
  fi
  for name in "${required[@]}"; do installed "$name" || missing+=("$name"); done
  for name in "${wanted[@]}"; do installed "$name" || lacking+=("$name"); done
  local all=("${missing[@]}" "${lacking[@]}")
  [ ${#all[@]} -eq 0 ] && { say "nothing to install"; return; }

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
    if ! command -v sudo >/dev/null; then
      say "neither root nor sudo: run as root: apt-get install ${all[*]}"
      [ ${#missing[@]} -eq 0 ] && return || exit 1
    fi
  fi
  say "asks the package mirror what is new"
  "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 update -qq >&2 ||
    say "*** apt-get update failed; goes on with what is known"
  install "${missing[@]}"
  for name in "${lacking[@]}"; do
    if ! available "$name"; then say "*** $name is not available here; goes on without it"
    else install "$name" || say "*** $name cannot be installed; goes on without it"; fi
  done
}

packages "$@"
case " $* " in *' test '*) python_sdk ;; esac
