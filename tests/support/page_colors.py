# SPDX-License-Identifier: MIT
"""The colors of the HTML report, from its style alone: contrast, what is told apart, and that no waiting is green."""

import math
import re


def colors(css, dark):
    """The variables of one theme."""
    light, _, rest = css.partition("@media (prefers-color-scheme: dark)")
    found = dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]+)", light))
    if dark:
        found.update(re.findall(r"--([a-z0-9]+): (#[0-9a-f]+)", rest.partition("\n}\n")[0]))
    return found


def luminance(color):
    channels = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    a, b = sorted((luminance(one), luminance(other)), reverse=True)
    return (a + 0.05) / (b + 0.05)


# What dichromats see of linear red, green and blue (Machado, Oliveira, Fernandes 2009, severity 1).
SIGHTS = {
    "all colors": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
CAUSES = [f"k{i}" for i in range(11)]
# Colors that stand beside each other in one picture.
BESIDE = {
    "parts of the time": ["compute", "memset", "comm", "copy", *CAUSES, "idle"],
    "owners of memory": [*(f"own{i}" for i in range(9)), "comm", "cut"],
    "families": [*(f"t{i}" for i in range(8)), "free", "comm"],
    "rows of the timeline": ["t0", "t4", "t2", "t3", "t7", "compute", "comm", "copy", "memset"],
    "whose code": ["user", "torch", "library", "calls", "cut"],
    "steps": ["steady", "cold", "cut"],
    "segments": ["alloc", "pending", "free"],
}
LEAST_DISTANCE = 0.04 # in OKLab; about twice what is just seen where two areas touch
WAITS = ("k0", "k1", "k2", "k6", "idle", "cut", "t4") # data loading, synchronization, communication, queue; Python


def linear(color):
    channels = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def oklab(rgb):
    """The color space in which distances are what people see (Ottosson 2020)."""
    cones = times(((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
                   (0.0883024619, 0.2817188376, 0.6299787005)), [min(max(c, 0), 1) for c in rgb])
    return times(((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
                  (0.0259040371, 0.7827717662, -0.8086757660)), [c ** (1 / 3) for c in cones])


def too_close(of, names):
    """Pairs that someone cannot tell apart."""
    for sight, matrix in SIGHTS.items():
        seen = [oklab(times(matrix, linear(of[name]))) for name in names]
        for at, one in enumerate(seen):
            for before in range(at):
                distance = math.dist(one, seen[before])
                if distance < LEAST_DISTANCE:
                    yield f"{names[before]} and {names[at]}, {sight}: {distance:.3f}"


def is_green(color):
    _, a, b = oklab(linear(color))
    return math.hypot(a, b) > 0.04 and 105 < math.degrees(math.atan2(b, a)) % 360 < 200


def check_colors(tap, css):
    """WCAG AA: 4.5 for text on everything that it stands on, 3 for shapes that mean something. What stands beside each other
    can be told apart by people who do not see all colors, and no waiting is green."""
    severities = ["critical", "high", "medium", "low", "info"]
    for dark in (False, True):
        scheme, of, low = "dark" if dark else "light", colors(css, dark), []
        pairs = [(text, on, 4.5) for text in ("ink", "muted", "link", "high", "peak") for on in ("bg", "card", "soft")]
        pairs += [("on", severity, 4.5) for severity in severities] + [("ink", "warn", 4.5), ("muted", "warn", 4.5)]
        pairs += [("flameink", code, 4.5) for code in ("user", "torch", "library", "calls", "cut", "soft", "hit")]
        pairs += [("ink", f"t{i}", 4.5) for i in range(8)] + [("ink", "free", 4.5)]
        pairs += [("on", "compute", 4.5), ("on", "comm", 4.5)]
        pairs += [(shape, "card", 3) for shape in ("compute", "memset", "comm", "requested", "alloc", "peak", "reserved")]
        for text, on, least in pairs:
            value = of[on] if len(of[on]) == 7 else "#" + "".join(2 * c for c in of[on][1:])
            if contrast(of[text], value) < least:
                low.append(f"{text} on {on}: {contrast(of[text], value):.2f}")
        tap.ok(not low, f"colors have the contrast of WCAG AA, {scheme}", "\n".join(low))
        close = [f"{name}: {pair}" for name, beside in BESIDE.items() for pair in too_close(of, beside)]
        tap.ok(not close, f"colors beside each other are told apart by everybody, {scheme}", "\n".join(close))
        green = [name for name in WAITS if is_green(of[name])]
        tap.ok(not green, f"no waiting is green, {scheme}", str(green))
