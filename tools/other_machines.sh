#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# other_machines.sh [MACHINE...]: builds for other machines with Debian's cross compilers, in ./build-other/MACHINE, and
# tests there under qemu: the unit and fuzz suites, and that the golden runs give the bytes that they give here. aarch64
# is what many GPU hosts are, s390x puts the high byte first. Without an argument: both. Takes ten minutes a machine on
# two cores, so tools/test.sh leaves it out.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A debian=([aarch64]=arm64 [s390x]=s390x)
declare -A loader=([aarch64]=ld-linux-aarch64.so.1 [s390x]=ld64.so.1)
declare -A endian=([aarch64]=little [s390x]=big)

say() { printf '\n=== %s\n' "$*"; }

install_compiler() { # MACHINE
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  if ! dpkg --print-foreign-architectures | grep -qx "${debian[$1]}"; then
    "${as_root[@]}" dpkg --add-architecture "${debian[$1]}"
    "${as_root[@]}" apt-get update -qq
  fi
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "gcc-$1-linux-gnu" "libc6-dev-${debian[$1]}-cross" \
    qemu-user </dev/null
}

# Into a folder of their own, so that this machine's packages stay what they are.
fetch_libraries() { # MACHINE FOLDER
  [ -e "$2/root/usr/include/cmark.h" ] && return
  local deb architecture=${debian[$1]}
  mkdir -p "$2/packages" "$2/root"
  (
    cd "$2/packages"
    apt-get download {zlib1g,zlib1g-dev,libcmark-dev,libcmark0.30.2}:"$architecture"
  )
  for deb in "$2"/packages/*.deb; do
    dpkg -x "$deb" "$2/root"
  done
}

# The loader and the libraries are named in the programs, so that qemu need not pretend another file system.
write_cross_file() { # MACHINE FOLDER
  local triple=$1-linux-gnu libraries
  libraries=/usr/$triple/lib:$2/root/usr/lib/$triple:$2/root/lib/$triple
  cat >"$2/cross.ini" <<END
[binaries]
c = '$triple-gcc'
ar = '$triple-ar'
strip = '$triple-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-$1']

[properties]
sys_root = '$2/root'
pkg_config_libdir = '$2/root/usr/lib/$triple/pkgconfig'

[built-in options]
c_link_args = ['-Wl,-dynamic-linker,/usr/$triple/lib/${loader[$1]}', '-Wl,-rpath,$libraries']

[host_machine]
system = 'linux'
cpu_family = '$1'
cpu = '$1'
endian = '${endian[$1]}'
END
}

try_machine() { # MACHINE
  local folder=$PWD/build-other/$1
  say "$1: what it needs"
  mkdir -p "$folder"
  install_compiler "$1"
  fetch_libraries "$1" "$folder"
  write_cross_file "$1" "$folder"
  say "$1: build"
  rm -rf "$folder/build"
  meson setup "$folder/build" --cross-file "$folder/cross.ini" --buildtype=release --werror -Dmpi=disabled -Dcuda=disabled
  ninja -C "$folder/build" all meson-test-prereq
  say "$1: unit and fuzz suites"
  meson test -C "$folder/build" --no-rebuild --suite unit --suite fuzz --print-errorlogs --timeout-multiplier 10
  say "$1: golden runs"
  printf '#!/bin/sh\nexec qemu-%s "%s/build/src/cli/analyze_profile" "$@"\n' "$1" "$folder" >"$folder/analyze_profile"
  chmod +x "$folder/analyze_profile"
  python3 tests/golden.py --program "$folder/analyze_profile"
}

[ $# -gt 0 ] || set -- "${!debian[@]}"
for machine; do
  [ -n "${debian[$machine]:-}" ] || { echo "other_machines: no $machine, only ${!debian[*]}" >&2; exit 2; }
done
for machine; do
  try_machine "$machine"
done
