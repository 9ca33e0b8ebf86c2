#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release.sh [FOLDER [MACHINE]]: makes what is handed out, from the commit that is checked out, into FOLDER (default:
# build-release), for this machine or, with Debian's cross compiler and its libraries (dpkg --add-architecture arm64;
# apt-get install qemu-user gcc-aarch64-linux-gnu {zlib1g,libcmark,libzstd,liblzma}-dev:arm64), for aarch64:
#   analyze_profile-VERSION-linux-ARCH.tar.gz   the static program with its man page and license
#   analyze_profile-VERSION-py3-none-*.whl      the Python package with the program in it
#   analyze-profile_VERSION_ARCH.deb            the same for Debian and Ubuntu
#   analyze_profile-VERSION.tar.xz              the sources
#   SHA256SUMS
# Times and owners are those of the commit and of root, so that two runs give equal files. Needs what setup.sh build
# installs, python3-venv and dpkg-dev; the container file and the conda recipe beside this script use what it makes. The
# program is tried, for another machine by qemu-user.
# The static program is of glibc; tools/musl.sh makes one of musl.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${1:-build-release}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
machine=${2:-$(uname -m)}
case $machine in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) arch=$(dpkg --print-architecture) ;;
esac
cross=()
run=()
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
name=analyze_profile-$version

pack() { # FOLDER NAME TO: a tar archive of FOLDER/NAME that depends on the content alone
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$1" -cf - "$2" | gzip -9n >"$3"
}

rm -rf "$out"
mkdir -p "$out"
git archive --format=tar --prefix="$name/" HEAD | xz -9 >"$out/$name.tar.xz"
mkdir "$work/source"
tar -xJf "$out/$name.tar.xz" -C "$work/source"

if [ "$machine" != "$(uname -m)" ]; then
  triple=$machine-linux-gnu
  cat >"$work/cross.ini" <<END
[binaries]
c = '$triple-gcc'
ar = '$triple-ar'
strip = '$triple-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-$machine']
[properties]
pkg_config_libdir = '/usr/lib/$triple/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '$machine'
cpu = '$machine'
endian = 'little'
END
  cross=(--cross-file "$work/cross.ini")
  run=("qemu-$machine")
fi

cd "$work/source/$name"
meson setup "$work/build" "${cross[@]}" --prefix=/usr --buildtype=release -Dstatic=true -Ddefault_library=static \
  -Dtests=false -Dcuda=disabled -Dmpi=disabled >&2
ninja -C "$work/build" >&2
DESTDIR="$work/root" meson install --no-rebuild --strip -C "$work/build" >&2
program=$work/root/usr/bin/analyze_profile
if readelf -d "$program" | grep -q NEEDED; then
  echo 'release: the program needs shared libraries' >&2
  exit 1
fi
"${run[@]}" "$program" -q -o "$work/report.html" fixtures/recorded/training_step_cpu.json.gz >&2

mkdir "$work/$name"
cp "$work/root/usr/bin/analyze_profile" LICENSE README.md "$work/$name/"
cp "$work/root/usr/share/man/man1/analyze_profile.1" "$work/$name/"
pack "$work" "$name" "$out/$name-linux-$arch.tar.gz"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet 'wheel>=0.40' >&2
settings=()
[ ${#cross[@]} = 0 ] || settings=("-Csetup-args=--cross-file=$work/cross.ini")
"$work/venv/bin/pip" wheel --quiet --no-deps "${settings[@]}" -w "$work/wheel" . >&2
"$work/venv/bin/wheel" tags --remove --platform-tag "manylinux2014_$machine" "$work"/wheel/*.whl >&2
cp "$work"/wheel/*.whl "$out/"
if [ ${#cross[@]} = 0 ]; then
  "$work/venv/bin/pip" install --quiet --no-index "$out"/*.whl >&2
  "$work/venv/bin/python" -c 'import analyze_profile as a
print(a.analyze("fixtures/recorded/training_step_cpu.json.gz").verdict)' >&2
fi

bash tools/packaging/deb.sh "$work/root" "$version" "$arch" "$out"
cd "$out"
sha256sum -- * >SHA256SUMS
cat SHA256SUMS
