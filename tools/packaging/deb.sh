#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deb.sh ROOT VERSION ARCH OUT: a package for Debian of what was installed below ROOT: the program, its man page, what
# completes its options.
set -euo pipefail

root=$1 version=$2 arch=$3 out=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
package=analyze-profile
tree=$work/tree
docs=$tree/usr/share/doc/$package

install -D -m 755 "$root/usr/bin/analyze_profile" "$tree/usr/bin/analyze_profile"
install -D -m 644 "$root/usr/share/man/man1/analyze_profile.1" "$tree/usr/share/man/man1/analyze_profile.1"
for place in bash-completion/completions/analyze_profile.bash zsh/site-functions/_analyze_profile \
  fish/vendor_completions.d/analyze_profile.fish; do
  case $place in
    bash*) to=${place%.bash} ;;
    zsh/*) to=zsh/vendor-completions/_analyze_profile ;;
    *) to=$place ;;
  esac
  install -D -m 644 "$root/usr/share/$place" "$tree/usr/share/$to"
done
install -d -m 755 "$docs"
{
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: analyze_profile\n\n'
  printf 'Files: *\nCopyright: %s\nLicense: Expat\n' \
    "$(date -ud "@$SOURCE_DATE_EPOCH" +%Y) $(sed -n 's/^Copyright (c) //p' LICENSE)"
  sed '1,/^Copyright/d' LICENSE | sed 's/^$/./; s/^/ /' | sed '1{/^ \.$/d}'
} >"$docs/copyright"
{
  printf '%s (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n' "$package" "$version"
  printf ' -- analyze_profile <noreply@example.org>  %s\n' "$(date -uRd "@$SOURCE_DATE_EPOCH")"
} >"$docs/changelog"
chmod 644 "$docs/copyright" "$docs/changelog"
gzip -9n "$docs/changelog" "$tree/usr/share/man/man1/analyze_profile.1"

# Static on purpose: one package for all releases of Debian and Ubuntu.
install -d -m 755 "$tree/usr/share/lintian/overrides"
printf '%s: %s\n' "$package" 'embedded-library *' "$package" 'shared-library-lacks-prerequisites *' \
  >"$tree/usr/share/lintian/overrides/$package"
chmod 644 "$tree/usr/share/lintian/overrides/$package"

mkdir -p "$tree/DEBIAN"
cat >"$tree/DEBIAN/control" <<END
Package: $package
Version: $version
Architecture: $arch
Maintainer: analyze_profile <noreply@example.org>
Installed-Size: $(du -ks --exclude=DEBIAN "$tree" | cut -f1)
Section: devel
Priority: optional
Built-Using: $(dpkg-query -W -f '${source:Package} (= ${source:Version})' "libcmark-dev:$arch" 2>/dev/null || echo cmark)
Description: ranked diagnosis of PyTorch profiler traces
 Reads PyTorch profiler traces, CUDA memory snapshots and flight-recorder
 dumps, and says what bounds the run, what to change first, and which figure
 has to move when the change was right. One program, which needs no Python,
 no PyTorch and no network.
END
(cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$tree" -print0 | xargs -0 touch --no-dereference -d "@$SOURCE_DATE_EPOCH"
dpkg-deb --root-owner-group -Zxz --build "$tree" "$out/${package}_${version}_$arch.deb" >&2
