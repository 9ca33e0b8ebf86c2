# SPDX-License-Identifier: MIT
# source_libraries.sh: for scripts that build the libraries which the program needs from Debian's sources, with its patches,
# as apt fetches and checks them: zlib, cmark and the part of zstd that reads. They set
#   folder            where all goes: sources/, lib/ with the libraries and what pkg-config says of them
#   compile_library   the compiler and its options, for one file

source_packages=(zlib cmark libzstd)

install_packages() { # PACKAGE...
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" </dev/null
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

# NAME INCLUDE_FOLDERS SOURCES...: a static library.
library() {
  local name=$1 include=$2
  shift 2
  mkdir -p "$folder/objects/$name"
  for source; do
    object=$folder/objects/$name/${source//\//_}.o
    printf '%s\0%s\0' "$source" "$object"
  done | (cd "$folder/sources" && xargs -0 -n 2 -P "$(nproc)" sh -c \
    "$compile_library -ffile-prefix-map=$folder=. $include"' -c "$1" -o "$2"' sh)
  ar rcsD "$folder/lib/lib$name.a" "$folder/objects/$name"/*.o
}

describe() { # PACKAGE LIBRARY VERSION INCLUDE_FOLDER...: what meson asks pkg-config about it
  {
    printf 'Name: %s\nDescription: built from source\nVersion: %s\nLibs: -L%s/lib -l%s\nCflags:' "$1" "$3" "$folder" "$2"
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
