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
source_packages=(zlib cmark libzstd)
compile="-specs=$folder/musl.specs -O2 -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection=full"

say() { printf '\n=== %s\n' "$*"; }

install_compiler() {
  command -v musl-gcc >/dev/null && command -v dpkg-source >/dev/null && return
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends musl-tools dpkg-dev </dev/null
}

# From where the system has its packages, the whole archive before the one of security, which goes on listing what it gave
# up; the lists of sources are kept apart from the system's own, which need not have any.
fetch_sources() {
  local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$folder/sources/deb-src.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$folder/sources/lists" -o APT::Sandbox::User=root)
  mkdir -p "$folder/sources/lists/partial"
  apt-get indextargets --format 'deb-src $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Identifier: Packages' 'Origin: Debian' \
    'Component: main' | sort -ru >"$folder/sources/deb-src.list"
  (
    cd "$folder/sources"
    "${apt[@]}" update
    for package in "${source_packages[@]}"; do
      [ -d "$package" ] && continue
      "${apt[@]}" source --download-only "$package"
      dpkg-source --no-check -x "$package"_*.dsc "$package" >/dev/null # apt has checked it
    done
  )
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

# NAME INCLUDE_FOLDERS SOURCES...: a static library, and what meson asks pkg-config about it.
library() {
  local name=$1 include=$2
  shift 2
  mkdir -p "$folder/objects/$name"
  for source; do
    object=$folder/objects/$name/${source//\//_}.o
    printf '%s\0%s\0' "$source" "$object"
  done | (cd "$folder/sources" && xargs -0 -n 2 -P "$(nproc)" sh -c \
    "gcc $compile -ffile-prefix-map=$folder=. $include"' -c "$1" -o "$2"' sh)
  ar rcsD "$folder/lib/lib$name.a" "$folder/objects/$name"/*.o
}

describe() { # PACKAGE LIBRARY VERSION INCLUDE_FOLDER...
  {
    printf 'Name: %s\nDescription: for musl\nVersion: %s\nLibs: -L%s/lib -l%s\nCflags:' "$1" "$3" "$folder" "$2"
    printf " -I$folder/%s" "${@:4}"
    echo
  } >"$folder/lib/$1.pc"
}

version_of() { # PACKAGE: of the source, without Debian's marks
  dpkg-parsechangelog -l "$folder/sources/$1/debian/changelog" -S Version | sed 's/[+~-].*//;s/\.dfsg$//'
}

build_libraries() {
  local version major minor patch generated=$folder/generated
  rm -rf "$folder/objects" "$folder/lib" "$generated"
  mkdir -p "$folder/lib" "$generated"
  cd "$folder/sources"
  library z "-DHAVE_UNISTD_H -DHAVE_HIDDEN -D_LARGEFILE64_SOURCE=1" \
    zlib/{adler32,compress,crc32,deflate,gzclose,gzlib,gzread,gzwrite,infback,inffast,inflate,inftrees,trees,uncompr,zutil}.c
  describe zlib z "$(version_of zlib)" sources/zlib
  version=$(version_of cmark)
  sed 's/#cmakedefine/#define/' cmark/src/config.h.in >"$generated/config.h"
  IFS=. read -r major minor patch <<<"$version"
  sed -e "s/@PROJECT_VERSION_MAJOR@/$major/g" -e "s/@PROJECT_VERSION_MINOR@/$minor/g" \
    -e "s/@PROJECT_VERSION_PATCH@/$patch/g" cmark/src/cmark_version.h.in >"$generated/cmark_version.h"
  echo '#define CMARK_EXPORT' >"$generated/cmark_export.h"
  library cmark "-I$generated -Icmark/src" $(find cmark/src -name "*.c" ! -name main.c | sort)
  describe libcmark cmark "$version" generated sources/cmark/src
  library zstd "-DZSTD_LEGACY_SUPPORT=0 -DZSTD_DISABLE_ASM -DZSTD_MULTITHREAD=0" libzstd/lib/{common,decompress}/*.c
  describe libzstd zstd "$(version_of libzstd)" sources/libzstd/lib
  cd - >/dev/null
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
