#!/bin/sh
# SPDX-License-Identifier: MIT
# Two builds of the sources in two folders, whose names differ in length, are the same bytes: program, library, headers,
# documents. same_bytes.sh [MESON_OPTION...]; without options it is built without optimization, which is quick and has the
# same ways to go wrong: paths, dates, the order of files.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
export CCACHE_DISABLE=1 # or the second build would be the first one again

build() {
    at=$1
    shift
    mkdir -p "$at"
    git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$at"
    meson setup "$at/build" "$at" -Dtests=false --prefix=/usr "$@" > "$at/log" 2>&1 || { cat "$at/log" >&2; exit 1; }
    ninja -C "$at/build" >> "$at/log" 2>&1 || { tail -50 "$at/log" >&2; exit 1; }
    DESTDIR="$at/root" meson install -C "$at/build" --no-rebuild >> "$at/log" 2>&1
}

[ $# -gt 0 ] || set -- --buildtype=plain -Doptimization=0
build "$folder/one" "$@"
build "$folder/a_longer_name/of/sources" "$@"
if diff -r "$folder/one/root" "$folder/a_longer_name/of/sources/root"; then
    echo "ok - $(find "$folder/one/root" -type f | wc -l) installed files are the same bytes from two folders"
else
    echo "not ok - two builds from two folders differ"
    exit 1
fi
