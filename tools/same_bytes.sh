#!/bin/sh
# SPDX-License-Identifier: MIT
# Two builds of the sources in two folders, whose names differ in length, are the same bytes: program, library, headers,
# documents. same_bytes.sh [--archive FILE.tar.gz] [MESON_OPTION...]: one of the folders has what the source archive has, if
# one is named, and the other what git knows. Without options it is built without optimization, which is quick and has the
# same ways to go wrong: paths, dates, the order of files, files that lack. The program has to write a report, too.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
export CCACHE_DISABLE=1 # or the second build would be the first one again

take_sources() {
    mkdir -p "$1"
    if [ -n "$2" ]; then
        tar -xzf "$2" -C "$1" --strip-components=1
    else
        git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$1"
    fi
}

build() {
    at=$1
    shift
    meson setup "$at/build" "$at" -Dtests=false --prefix=/usr "$@" > "$at/log" 2>&1 || { cat "$at/log" >&2; exit 1; }
    ninja -C "$at/build" >> "$at/log" 2>&1 || { tail -50 "$at/log" >&2; exit 1; }
    DESTDIR="$at/root" meson install -C "$at/build" --no-rebuild >> "$at/log" 2>&1
    "$at/build/src/cli/analyze_profile" --quiet --md-out "$at/report.md" "$at/fixtures/recorded/training_step_cpu.json.gz"
}

archive=
if [ "${1:-}" = --archive ]; then
    archive=$2
    shift 2
fi
[ $# -gt 0 ] || set -- --buildtype=plain -Doptimization=0
take_sources "$folder/one" "$archive"
take_sources "$folder/a_longer_name/of/sources" ""
build "$folder/one" "$@" &
first=$!
build "$folder/a_longer_name/of/sources" "$@" &
second=$!
built=yes
wait "$first" || built=no
wait "$second" || built=no
[ "$built" = yes ]
if diff -r "$folder/one/root" "$folder/a_longer_name/of/sources/root"; then
    echo "ok - $(find "$folder/one/root" -type f | wc -l) installed files are the same bytes from two folders"
else
    echo "not ok - two builds from two folders differ"
    exit 1
fi
