#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release.sh [FOLDER]: makes what is handed out, from the commit that is checked out, into FOLDER (default: build-release):
#   analyze_profile-VERSION-linux-ARCH.tar.gz   the static program with its man page and license
#   analyze_profile-VERSION-py3-none-*.whl      the Python package with the program in it
#   analyze-profile_VERSION_ARCH.deb            the same for Debian and Ubuntu
#   analyze_profile-VERSION.tar.xz              the sources
#   SHA256SUMS
# Times and owners are those of the commit and of root, so that two runs give equal files. Needs what setup.sh build
# installs, python3-venv and dpkg-dev; the container file and the conda recipe beside this script use what it makes.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${1:-build-release}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
arch=$(dpkg --print-architecture)
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

cd "$work/source/$name"
meson setup "$work/build" --prefix=/usr --buildtype=release -Dstatic=true -Ddefault_library=static -Dtests=false \
  -Dcuda=disabled -Dmpi=disabled >&2
ninja -C "$work/build" >&2
DESTDIR="$work/root" meson install --no-rebuild --strip -C "$work/build" >&2
if ldd "$work/root/usr/bin/analyze_profile" 2>/dev/null | grep -q '=>'; then
  echo 'release: the program needs shared libraries' >&2
  exit 1
fi

mkdir "$work/$name"
cp "$work/root/usr/bin/analyze_profile" LICENSE README.md "$work/$name/"
cp "$work/root/usr/share/man/man1/analyze_profile.1" "$work/$name/"
pack "$work" "$name" "$out/$name-linux-$arch.tar.gz"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet 'wheel>=0.40' >&2
"$work/venv/bin/pip" wheel --quiet --no-deps -w "$work/wheel" . >&2
"$work/venv/bin/wheel" tags --remove --platform-tag "manylinux2014_$(uname -m)" "$work"/wheel/*.whl >&2
cp "$work"/wheel/*.whl "$out/"
"$work/venv/bin/pip" install --quiet --no-index "$out"/*.whl >&2
"$work/venv/bin/python" -c 'import analyze_profile as a
print(a.analyze("fixtures/recorded/training_step_cpu.json.gz").verdict)' >&2

bash tools/packaging/deb.sh "$work/root" "$version" "$arch" "$out"
cd "$out"
sha256sum -- * >SHA256SUMS
cat SHA256SUMS
