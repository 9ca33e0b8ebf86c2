#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Take the README's picture of the HTML report anew: report_picture.py PROGRAM

Draws the report on a fixture with chromium (AP_CHROMIUM names another one) and writes references/gallery/report.png in few
colors, which makes it a third as large. Fonts differ from machine to machine, so no test compares its bytes."""
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "fixtures/scenarios/slow-input-pipeline/trace.json.gz"
WIDTH, HEIGHT, COLORS, APART = 1000, 1350, 96, 60


def screenshot(program, folder):
    page, picture = Path(folder) / "report.html", Path(folder) / "report.png"
    subprocess.run([program, SOURCE, "--quiet", "--md-out", os.devnull, "--html-out", page], cwd=ROOT, check=True)
    subprocess.run([os.environ.get("AP_CHROMIUM", "chromium"), "--headless", "--no-sandbox", "--disable-gpu",
                    "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}", page.as_uri()],
                   check=True, capture_output=True)
    return picture.read_bytes()


def chunks(png):
    at = 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + length]
        at += 12 + length


def nearest(left, above, corner):
    guess = left + above - corner
    return min((abs(guess - value), order, value) for order, value in enumerate((left, above, corner)))[2]


def rows_of(png):
    """The rows of a PNG of eight bits a channel, as lists of (red, green, blue)."""
    header = next(data for kind, data in chunks(png) if kind == b"IHDR")
    width, _, depth, color = struct.unpack(">IIBB", header[:10])
    channels = {2: 3, 6: 4}[color]
    if depth != 8:
        raise ValueError("not eight bits a channel")
    stride = width * channels
    data = zlib.decompress(b"".join(data for kind, data in chunks(png) if kind == b"IDAT"))
    above = bytes(stride)
    for start in range(0, len(data), stride + 1):
        how, line = data[start], bytearray(data[start + 1:start + 1 + stride])
        for i in range(stride):
            left = line[i - channels] if i >= channels else 0
            corner = above[i - channels] if i >= channels else 0
            line[i] = (line[i] + (0, left, above[i], (left + above[i]) // 2, nearest(left, above[i], corner))[how]) & 255
        above = line
        yield [tuple(line[i:i + 3]) for i in range(0, stride, channels)]


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other))


def few_colors(rows):
    """The most frequent colors that differ enough, and for each color of the picture the place of the one nearest to it."""
    counts, palette = Counter(color for row in rows for color in row), []
    for color, _ in counts.most_common():
        if len(palette) < COLORS and all(distance(color, other) > APART for other in palette):
            palette.append(color)
    return palette, {color: min(range(len(palette)), key=lambda place: distance(color, palette[place])) for color in counts}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path, rows):
    palette, place_of = few_colors(rows)
    packed = b"".join(b"\0" + bytes(place_of[color] for color in row) for row in rows)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)),
             (b"PLTE", b"".join(bytes(color) for color in palette)), (b"IDAT", zlib.compress(packed, 9)), (b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in parts))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        rows = list(rows_of(screenshot(Path(sys.argv[1]).resolve(), folder)))
    write_png(ROOT / "references" / "gallery" / "report.png", rows)


if __name__ == "__main__":
    main()
