#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the built program and library are made of, read from their ELF files: elf.py [--static] FILE... Prints TAP.

Position independent, all relocations read-only before main, no executable stack, guarded stack frames, checked calls of the
C library, targets of jumps marked where the processor knows that; and nothing that runs other programs or loads code.
--static: it needs no loader and no library; then all functions in it are looked at, those of the C library too, so it must
not be stripped yet.
"""
import struct
import sys
from pathlib import Path

from tap import Tap

ET_DYN, PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 3, 1, 2, 3, 0x6474e551, 0x6474e552
DT_NEEDED, DT_STRTAB, DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1 = 1, 5, 24, 30, 0x6ffffffb
DF_BIND_NOW, DF_1_NOW, PF_X, SHT_SYMTAB, SHT_DYNSYM = 8, 1, 1, 2, 11
EM_X86_64, EM_AARCH64, STT_FUNC = 62, 183, 2
LANDINGS = {EM_X86_64: b"\xf3\x0f\x1e\xfa", EM_AARCH64: b"\x5f\x24\x03\xd5"}  # endbr64, bti c
FORBIDDEN = {"dlopen", "dlsym", "dlmopen", "system", "popen", "execve", "execv", "execvp", "execl", "execlp", "execle",
             "execvpe", "fexecve", "execveat", "posix_spawn", "posix_spawnp", "fork", "_Fork", "vfork", "clone", "socket",
             "socketpair", "connect", "bind", "getaddrinfo", "gethostbyname",
             "wordexp", "iconv_open", "getpwnam", "getpwuid", "getgrnam"}  # the last ones start a shell or load libraries
# What comes with a library comes in unseen: none but these.
LIBRARIES = {"libc", "libm", "libpthread", "ld-linux-aarch64", "libz", "libisal", "libzstd", "liblzma", "libsqlite3",
             "libcmark"}


class Elf:
    """A file of 64 bits."""

    def __init__(self, path):
        self.data = path.read_bytes()
        if self.data[:5] != b"\x7fELF\x02":
            raise ValueError(f"{path} is no ELF file of 64 bits")
        self.order = "<" if self.data[5] == 1 else ">"
        self.type, self.machine = self.read("HH", 16)
        self.segments = [self.read("IIQQQQQQ", self.read("Q", 32)[0] + i * 56) for i in range(self.read("H", 56)[0])]
        self.sections = [self.read("IIQQQQIIQQ", self.read("Q", 40)[0] + i * 64) for i in range(self.read("H", 60)[0])]

    def read(self, form, at):
        return struct.unpack_from(self.order + form, self.data, at)

    def segment(self, kind):
        return next((segment for segment in self.segments if segment[0] == kind), None)

    def dynamic(self):
        _, _, offset, _, _, size, _, _ = self.segment(PT_DYNAMIC)
        return dict(self.read("qQ", offset + i) for i in range(0, size, 16))

    def libraries(self):
        """Names of what the loader is to load, without versions."""
        _, _, offset, _, _, size, _, _ = self.segment(PT_DYNAMIC)
        strings = self.place(self.dynamic()[DT_STRTAB])
        entries = (self.read("qQ", offset + i) for i in range(0, size, 16))
        return [self.text(strings + value).partition(".")[0] for kind, value in entries if kind == DT_NEEDED]

    def place(self, address):
        """In the file."""
        return next(address - start + offset for kind, _, offset, start, _, size, _, _ in self.segments
                    if kind == PT_LOAD and start <= address < start + size)

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def functions(self, table, of_others):
        """Names in a table of symbols: of functions that other libraries have, or of those that are here."""
        names = set()
        for _, kind, _, _, offset, size, link, _, _, _ in self.sections:
            strings = self.sections[link][4] if kind == table else 0
            for at in range(offset, offset + size, 24) if kind == table else ():
                name, info, _, section, _, _ = self.read("IBBHQQ", at)
                if (section == 0) == of_others and (of_others or info & 15 == STT_FUNC):
                    names.add(self.text(strings + name))
        return names


def check(tap, path, is_static):
    elf, name = Elf(path), path.name
    dynamic = elf.dynamic()
    wanted = elf.functions(SHT_SYMTAB, False) if is_static else elf.functions(SHT_DYNSYM, True)
    if is_static:
        tap.ok(not elf.segment(PT_INTERP) and DT_NEEDED not in dynamic, f"{name}: needs no loader and no library", dynamic)
    tap.same(elf.type, ET_DYN, f"{name}: can be loaded anywhere")
    tap.ok(elf.segment(PT_GNU_RELRO) and (DT_BIND_NOW in dynamic or dynamic.get(DT_FLAGS, 0) & DF_BIND_NOW
                                          or dynamic.get(DT_FLAGS_1, 0) & DF_1_NOW),
           f"{name}: relocations are read-only", dynamic)
    stack = elf.segment(PT_GNU_STACK)
    tap.ok(stack and not stack[1] & PF_X, f"{name}: the stack cannot be executed", stack)
    tap.ok("__stack_chk_fail" in wanted, f"{name}: stack frames are guarded", sorted(wanted))
    checked = f"{name}: calls of the C library are checked"
    if is_static and "__libc_start_main" in wanted and not any(symbol.endswith("_chk") for symbol in wanted):
        tap.skip(checked, "this C library has no such calls")
    else:
        tap.ok(any(symbol.endswith("_chk") for symbol in wanted), checked, sorted(wanted))
    if elf.machine in LANDINGS:
        # not the note that the whole file is marked: the startup files of some systems are not, which makes it void
        count = elf.data.count(LANDINGS[elf.machine])
        tap.ok(count > 50, f"{name}: functions begin where indirect jumps may land", f"{count} landings")
    tap.check(f"{name}: needs no other library", sorted(set(elf.libraries()) - LIBRARIES))
    tap.check(f"{name}: runs no program, loads no code, opens no connection",
              sorted({symbol.partition("@")[0] for symbol in wanted} & FORBIDDEN))


def main():
    tap = Tap()
    is_static = sys.argv[1:2] == ["--static"]
    for path in map(Path, sys.argv[1 + is_static:]):
        check(tap, path, is_static)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
