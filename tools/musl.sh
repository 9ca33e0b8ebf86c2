#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# musl.sh [GLIBC_PROGRAM]: builds the static program with musl, in ./build-musl, and tries it: ./build-musl/analyze_profile
# needs nothing of the system that it runs on, not even a C library of the same kind. Debian has musl (musl-tools) but no
# libraries for it: zlib, cmark and the part of zstd that reads are built from Debian's sources, with its patches, as apt
# fetches and checks them. ISA-L, xz and SQLite are left out: inflating with zlib takes about three times as long, and the
# other two are for inputs that few have. --version --verbose says what it has.
#
# It is the same program, so it is held against one of glibc, GLIBC_PROGRAM or one that is built here: the same reports for
# all fixtures, byte for byte. What musl does otherwise (no checked calls of the C library, open and tkill where glibc asks
# for openat and tgkill, a qsort that is not stable) is what elf.py, safety.py, golden.py and same_reports.py look at. Builds
# twice and tests for minutes, so tools/test.sh leaves it out.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/build-musl
compile_library="gcc -specs=$folder/musl.specs -O2 -fPIE -fstack-protector-strong -fstack-clash-protection"
compile_library+=" -fcf-protection=full"

. tools/source_libraries.sh

say() { printf '\n=== %s\n' "$*"; }

install_compiler() {
  command -v musl-gcc >/dev/null && command -v dpkg-source >/dev/null && return
  install_packages musl-tools dpkg-dev
}

# Debian's musl-gcc links position-dependent programs only: the same rules with the start of a static PIE. Of the kernel's
# headers alone, by links: no other of glibc's folder is looked into.
write_rules() {
  local found=(/usr/lib/*-linux-musl/musl-gcc.specs)
  sed -e 's|%{!shared: \(.*/\)Scrt1.o}|\1rcrt1.o|' \
    -e 's/^-dynamic-linker .*/-nostdlib %{shared:-shared} %{!shared:-static -pie --no-dynamic-linker -z text}/' \
    "${found[0]}" >"$folder/musl.specs"
  rm -rf "$folder/kernel"
  mkdir "$folder/kernel"
  ln -s /usr/include/linux /usr/include/asm-generic "/usr/include/$(gcc -print-multiarch)/asm" "$folder/kernel/"
}

configure() { # FOLDER OPTION...
  CC="gcc -specs=$folder/musl.specs -idirafter $folder/kernel" PKG_CONFIG_LIBDIR=$folder/lib \
    meson setup "$@" --buildtype=release --werror -Dstatic=true -Ddefault_library=static -Dinflate=zlib -Dnsys=disabled \
    -Dxz=disabled -Dzstd=enabled -Dmpi=disabled -Dcuda=disabled
}

build_program() {
  rm -rf "$folder/build"
  configure "$folder/build"
  ninja -C "$folder/build" src/cli/analyze_profile
  strip -o "$folder/analyze_profile" "$folder/build/src/cli/analyze_profile"
  "$folder/analyze_profile" --version --verbose
}

# With the calls of tests/planted_calls.c behind its reading: nothing can be preloaded where nothing is loaded.
plant_calls() {
  local link
  gcc "-specs=$folder/musl.specs" -O2 -fPIE -DAP_WRAPS_READ -c tests/planted_calls.c -o "$folder/planted_calls.o"
  link=$(ninja -C "$folder/build" -t commands src/cli/analyze_profile | tail -n 1)
  (cd "$folder/build" && eval "${link/-o src\/cli\/analyze_profile /-o ../planted } ../planted_calls.o -Wl,--wrap=read")
}

build_again() {
  rm -rf "$folder/another_folder"
  CCACHE_DISABLE=1 configure "$folder/another_folder" -Dtests=false >/dev/null
  CCACHE_DISABLE=1 ninja -C "$folder/another_folder" src/cli/analyze_profile
  cmp "$folder/build/src/cli/analyze_profile" "$folder/another_folder/src/cli/analyze_profile"
}

program_of_glibc() {
  [ -d "$folder/glibc" ] || meson setup "$folder/glibc" --buildtype=release -Dtests=false -Dmpi=disabled -Dcuda=disabled >&2
  ninja -C "$folder/glibc" src/cli/analyze_profile >&2
  echo "$folder/glibc/src/cli/analyze_profile"
}

say 'compiler and sources'
mkdir -p "$folder"
install_compiler
fetch_sources
write_rules
say 'libraries'
build_libraries
say 'program'
build_program
say 'the same bytes from another folder'
build_again
say 'what it is made of'
python3 tests/elf.py --static "$folder/build/src/cli/analyze_profile"
say 'unit and fuzz suites'
meson test -C "$folder/build" --suite unit --suite fuzz --print-errorlogs --timeout-multiplier 4
say 'golden runs, promises'
plant_calls
python3 tests/golden.py --program "$folder/analyze_profile" | grep -v '^ok'
AP_PLANTED_PROGRAM=$folder/planted \
  python3 tests/safety.py --program "$folder/analyze_profile" | grep -v '^ok'
say 'the reports of glibc'
python3 tests/same_reports.py --program "$folder/analyze_profile" --other "$(realpath "${1:-$(program_of_glibc)}")"
