#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The HTML report in a real browser: every picture is there, tables sort and filter, flame graphs zoom and search, the
console is silent, nothing is asked from anywhere, hostile names stay text, it reads without script, in light and dark, on a
narrow screen and on paper. Prints TAP; all is skipped where no chromium is installed."""

import base64
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ROOT, parser_of
from tap import Tap

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
from chromium import Browser, BrowserError, Page, find_browser  # noqa: E402
from page_colors import check_colors  # noqa: E402

FIXTURES = ROOT / "fixtures"
HOSTILE = FIXTURES / "traces/hostile_names.json"
# What is given, and the pictures that must be there.
CASES = {
    "trace and snapshot": (["--cpu-trace", FIXTURES / "traces/training_step_cuda.json.gz",
                            "--memory-json", FIXTURES / "snapshots/modern.json.gz"],
                           "split utilization steps-chart step-parts timeline kernel-map host-flame memory-0 memory-flame "
                           "segment-map trace-memory-0 collectives"),
    "CPU trace": ([FIXTURES / "recorded/training_step_cpu.json.gz"], "split utilization timeline host-flame"),
    "snapshot": (["--memory-json", FIXTURES / "snapshots/oom.json.gz"], "memory-0 memory-flame segment-map"),
    "hostile names": (["--cpu-trace", HOSTILE, "--top-n", "0"], ""),
    "nothing": (["--cpu-trace", FIXTURES / "traces/empty_events.json"], ""),
}
REAL = {
    "kineto_resnet50_w0_1623143089861.json.gz": "split utilization steps-chart timeline kernel-map host-flame "
    "trace-memory-0",
    "hta_nccl_data.json.gz": "split utilization timeline kernel-map host-flame collectives",
    "snapshots/mosaic_output.json.gz": "memory-0 memory-flame segment-map",
}
SHARED = ["--md-out", os.devnull, "--quiet"]
MOST_BYTES = 1_500_000
MOST_SECONDS = 0.5
MOST_PAGES = 6
PAPER = 717 # A4 within its margins, in CSS pixels

# Whatever a name says, the page has these elements alone, and no attribute that could run, style or load something.
INERT = r"""(() => {
  const bad = [];
  const known = new Set((
    "html head meta title link style body a header h1 p strong span code " +
    "dl div dt dd nav main section h2 " +
    "article h3 details summary table thead tbody tr th td ul ol li pre b em figure figcaption svg rect text " +
    "path circle line g use h4 footer script button select option input blockquote br").split(" "));
  for (const e of document.querySelectorAll("*")) {
    if (!known.has(e.localName)) bad.push("element " + e.localName);
    for (const a of e.attributes) {
      if (/^on|^style$|^src|^action$|^formaction$|href$/i.test(a.name) &&
          !(a.name === "href" && /^(#|data:,$)/.test(a.value)))
        bad.push(e.localName + " " + a.name + "=" + a.value);
      if (a.name === "class" && !/^[a-z0-9_ -]*$/i.test(a.value)) bad.push("class " + a.value);
    }
  }
  if (document.scripts.length !== 1) bad.push(document.scripts.length + " scripts");
  return bad;
})()"""

# Characters that a reader cannot see, or that turn the direction of writing.
HIDDEN = r"/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/"


class Reports:
    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def write(self, name, arguments):
        path = self.folder / (re.sub(r"\W+", "-", name) + ".html")
        done = subprocess.run([self.program, *map(str, arguments), *SHARED, "--html-out", str(path)], capture_output=True,
                              timeout=300,
                              check=False)
        if done.returncode:
            raise BrowserError(done.stderr.decode())
        return path


def check_quiet(tap, page, name):
    tap.ok(not page.complaints(), f"{name}: the console is silent", "\n".join(page.complaints()))
    asked = [url for url in page.requests() if not url.startswith("data:")]
    tap.ok(len(asked) == 1 and asked[0].startswith("file:"), f"{name}: nothing is asked from anywhere", "\n".join(asked))


def check_page(tap, browser, path, name, pictures):
    page = Page(browser)
    page.open(path)
    check_quiet(tap, page, name)
    tap.ok(path.stat().st_size < MOST_BYTES, f"{name}: smaller than 1.5 MB ({path.stat().st_size} bytes)")
    tap.ok(page.value("document.documentElement.dataset.script") == "on", f"{name}: our script runs under the policy")
    there = page.value("Array.from(document.querySelectorAll('figure')).map(f => f.id)")
    lacking = [picture for picture in pictures.split() if picture not in there]
    tap.ok(not lacking, f"{name}: every picture is there", f"lacks {lacking}, has {there}")
    bad = page.value(INERT)
    tap.ok(not bad, f"{name}: nothing but our own elements and attributes", "\n".join(bad[:20]))
    hidden = page.value(f"(document.body.innerText.match(new RegExp({HIDDEN}, 'g')) || []).length")
    tap.ok(hidden == 0, f"{name}: no invisible characters", str(hidden))
    untold = page.value("""Array.from(document.querySelectorAll('svg.chart')).filter(s => !s.getAttribute('aria-label') &&
        !(s.getAttribute('aria-labelledby') || '').split(' ')
          .every(id => (document.getElementById(id) || {}).textContent)).length""")
    tap.ok(untold == 0, f"{name}: each picture has its text")
    nowhere = page.value("Array.from(document.querySelectorAll('[href^=\"#\"]')).map(a => a.getAttribute('href').slice(1))"
                         ".filter(id => !document.getElementById(id))")
    tap.ok(not nowhere, f"{name}: every link leads somewhere", str(nowhere))
    twice = page.value("(() => { const ids = Array.from(document.querySelectorAll('[id]')).map(e => e.id);"
                       " return ids.filter((id, at) => ids.indexOf(id) !== at); })()")
    tap.ok(not twice, f"{name}: ids are unique", str(twice))
    return page


def check_tables(tap, page):
    # the first table with a filter in the details
    page.value("document.querySelectorAll('section.s > details').forEach(d => { d.open = true; })")
    at = page.value("""(() => { const tables = Array.from(document.querySelectorAll('section.s table.sort'));
        const t = tables.find(t => t.tBodies[0].rows.length > 5 &&
          Array.from(t.tHead.rows[0].cells).some(c => c.textContent === 'Count'));
        t.id = 'tested'; t.parentElement.previousElementSibling.id = 'tested-tools';
        return Array.from(t.tHead.rows[0].cells).findIndex(c => c.textContent === 'Count') + 1; })()""")
    cells = (f"Array.from(document.querySelectorAll('#tested tbody tr'))"
             f".map(r => parseFloat(r.cells[{at - 1}].textContent.replace(/,/g, '')))")
    button = f"#tested thead th:nth-child({at}) button"
    page.click(button)
    values = page.value(cells)
    tap.ok(values == sorted(values, reverse=True) and len(set(values)) > 1,
           "a click sorts a table by figures, largest first", str(values))
    tap.ok(page.value(f"document.querySelector('{button}').parentElement.getAttribute('aria-sort')") == "descending",
           "and says so")
    page.value(f"document.querySelector('{button}').focus()")
    page.press("Enter", "\r")
    tap.ok(page.value(cells) == sorted(values), "the keyboard turns the order")
    page.click("#tested thead th:nth-child(1) button")
    names = page.value("Array.from(document.querySelectorAll('#tested tbody tr')).map(r => "
                       "r.cells[0].textContent.toLowerCase())")
    tap.ok(names == sorted(names), "names sort from a to z", str(names))
    page.value("document.querySelector('#tested-tools input').focus()")
    page.call("Input.insertText", text=names[0])
    shown = page.value("Array.from(document.querySelectorAll('#tested tbody tr')).filter(r => r.offsetParent).map(r => "
                       "r.textContent.toLowerCase())")
    tap.ok(0 < len(shown) < len(names) and all(names[0] in row for row in shown),
           "the filter leaves the rows that have the words", str(shown))
    told = page.value("document.querySelector('#tested-tools [role=status]').textContent")
    tap.ok(told == f"{len(shown)} of {len(names)} rows", "and tells how many", told)


def check_flame(tap, page, flame):
    state = f"""(() => {{ const svg = document.querySelector('#{flame} svg'),
                 all = Array.from(svg.querySelectorAll('g[data-d]'));
        return {{ all: all.length, shown: all.filter(g => !g.classList.contains('hidden')).length, root: svg.dataset.root,
                 focus: document.activeElement.getAttribute('aria-label'),
                 wide: all.filter(g => !g.classList.contains('hidden') &&
                 Math.abs(g.querySelector('rect').getAttribute('width') - 1000) < 0.02).length }}; }})()"""
    before = page.value(state)
    # a node at the third level that is not as wide as all
    page.value(f"""(() => {{ const all = Array.from(document.querySelectorAll('#{flame} g[data-d]')),
                 r = g => Number(g.querySelector('rect').getAttribute('width'));
        const g = all.filter(g => g.dataset.d > 1 && r(g) < 900).sort((a, b) => r(b) - r(a))[0]; g.id = 'tested-node';
        window.testedTitle = g.getAttribute('aria-label'); }})()""")
    page.click("#tested-node rect")
    after = page.value(state)
    tap.ok(after["shown"] < before["shown"] and after["wide"] > 1 and after["root"] != before["root"],
           f"{flame}: a click zooms", f"{before} {after}")
    tap.ok(after["focus"] == page.value("window.testedTitle"), f"{flame}: and the focus is there", str(after))
    page.press("ArrowUp")
    page.press("Enter", "\r")
    higher = page.value(state)
    tap.ok(higher["root"] != after["root"] and higher["shown"] >= after["shown"],
           f"{flame}: the keyboard zooms out a level", str(higher))
    page.press("Escape")
    tap.ok(page.value(state)["shown"] == before["all"], f"{flame}: Escape shows all again")
    page.press("ArrowDown")
    down = page.value("document.activeElement.dataset.d")
    tap.ok(down == "1", f"{flame}: the arrow keys go down", str(down))
    word = page.value(f"document.querySelector('#tested-node title').textContent.split(': ')[0].slice(0, 12).toLowerCase()")
    page.value(f"document.querySelector('#{flame} input').focus()")
    page.call("Input.insertText", text=word)
    hits = page.value(f"Array.from(document.querySelectorAll('#{flame} .hit title')).map(t => t.textContent.toLowerCase())")
    told = page.value(f"document.querySelector('#{flame} [role=status]').textContent")
    tap.ok(hits and all(word in hit for hit in hits) and told.startswith(f"{len(hits)} found, "),
           f"{flame}: the search finds names", f"{told} {hits[:3]}")
    page.value("document.querySelector('#tested-node').removeAttribute('id')")


def check_codes(tap, page):
    """Whose code a frame is shows in its color, and names of kernels are short until they are asked for."""
    told = page.value("""(() => { const colors = {};
        for (const r of document.querySelectorAll('#host-flame g[data-d] rect'))
          (colors[r.getAttribute('class').replace('cell ', '')] ||= new Set()).add(getComputedStyle(r).fill);
        return { classes: Object.keys(colors), fills: new Set(Object.values(colors).flatMap(s => [...s])).size,
                 legend: document.querySelectorAll('#host-flame .legend li').length }; })()""")
    named = [name for name in told["classes"] if name != "code_none"]
    tap.ok(len(named) > 1 and told["fills"] == len(told["classes"]) and told["legend"] == len(named),
           "the flame graph tells by color whose code it is", str(told))
    short = page.value("""Array.from(document.querySelectorAll('section.s td code[title], section.s th code[title]'))
        .map(c => [c.textContent, c.title])""")
    tap.ok(short and all(len(label) < len(whole) and label.split("<")[0] in whole for label, whole in short),
           "kernels are told short, and whole under the pointer", str(short[:3]))


def check_timeline(tap, page):
    state = """(() => { const svg = document.querySelector('#timeline svg'),
              shown = Array.from(svg.querySelectorAll('g.b:not(.hidden)'));
        return { zoom: Number(svg.dataset.zoom || 1), shown: shown.length,
                 axis: Array.from(svg.querySelectorAll('.axis text')).map(t => t.textContent),
                 inside: shown.every(g => { const r = g.querySelector('rect');
                   return Number(r.getAttribute('x')) < 1002; }) }; })()"""
    before = page.value(state)
    page.click("#timeline .tools button:nth-child(1)")
    page.click("#timeline .tools button:nth-child(1)")
    after = page.value(state)
    tap.ok(after["zoom"] == 4 and after["shown"] < before["shown"] and after["inside"] and after["axis"] != before["axis"],
           "the timeline zooms in", f"{before} {after}")
    page.value("document.querySelector('#timeline svg').focus()")
    page.press("ArrowRight")
    moved = page.value(state)
    tap.ok(moved["axis"] != after["axis"] and moved["zoom"] == 4, "the arrow keys move it", str(moved))
    page.press("Escape")
    again = page.value(state)
    tap.ok(again["zoom"] == 1 and again["shown"] == before["shown"], "Escape shows all again", str(again))
    page.click("#timeline g.b rect")
    told = page.value("document.querySelector('#timeline .info').textContent + '|' + document.querySelector('#timeline g.b "
                      "title').textContent")
    tap.ok(page.value(state)["zoom"] >= 1 and told.split("|")[0] == told.split("|")[1], "a click on a bar tells what it is",
           told)


def check_timeline_by_hand(tap, page):
    """The wheel and dragging."""
    state = """(() => { const svg = document.querySelector('#timeline svg');
        return [Number(svg.dataset.zoom || 1), Array.from(svg.querySelectorAll('.axis text')).map(t => t.textContent)
                .join(' ')]; })()"""
    page.press("Escape")
    page.value("""(() => { const svg = document.querySelector('#timeline svg'), box = svg.getBoundingClientRect();
        for (let i = 0; i < 6; i++) svg.dispatchEvent(new WheelEvent('wheel', { deltaY: -100,
          clientX: box.left + box.width / 2, clientY: box.top + 20, cancelable: true, bubbles: true })); })()""")
    zoomed = page.value(state)
    tap.ok(3 < zoomed[0] < 5, "the wheel zooms the timeline", str(zoomed))
    page.value("""(() => { const svg = document.querySelector('#timeline svg'), box = svg.getBoundingClientRect();
        const at = (kind, x) => svg.dispatchEvent(new PointerEvent(kind, { clientX: x, clientY: box.top + 20, buttons: 1,
          bubbles: true }));
        at('pointerdown', box.left + 500); at('pointermove', box.left + 300); at('pointerup', box.left + 300); })()""")
    moved = page.value(state)
    tap.ok(moved[0] == zoomed[0] and moved[1] != zoomed[1], "dragging moves it", f"{zoomed} {moved}")


def check_timeline_beyond(tap, page):
    """Shorter rows appear where the reader zooms; behind the step is the rest of the recording; each tells what it is."""
    state = """(() => { const svg = document.querySelector('#timeline svg'),
          rows = Array.from(svg.querySelectorAll('g.row:not(.hidden)'));
        return { zoom: Number(svg.dataset.zoom || 1), rows: rows.length,
          inside: rows.every(g => {
            const r = g.querySelector('rect').getBoundingClientRect(), s = svg.getBoundingClientRect();
            return r.right > s.left - 3 && r.left < s.right + 3 && r.bottom <= s.bottom; }),
          told: rows.every(g => / starts after /.test(g.querySelector('title').textContent)),
          told_by: (rows[0] || svg).querySelector('title')?.textContent,
          axis: Array.from(svg.querySelectorAll('.axis text')).map(t => t.textContent) }; })()"""
    page.value("document.querySelector('#timeline svg').focus()")
    page.press("Escape")
    whole = page.value(state)
    for _ in range(3):
        page.press("-")
    out = page.value(state)
    tap.ok(out["zoom"] < whole["zoom"] and out["rows"] > 0 and out["inside"] and out["told"],
           "zooming out shows the rest of the recording", str(out))
    page.press("Escape")
    for _ in range(4):
        page.press("+")
    near = page.value(state)
    tap.ok(near["zoom"] == 16 and near["inside"] and near["told"], "zooming in stays within the drawing", str(near))
    page.value("document.querySelector('#timeline g.row:not(.hidden) rect')?.dispatchEvent("
               "new PointerEvent('pointerover', { bubbles: true }))")
    said = page.value("document.querySelector('#timeline .info').textContent")
    tap.ok(not near["rows"] or said == near["told_by"], "a row that appeared tells what it is", f"{said} {near}")
    page.press("Escape")
    lacking = page.value("""Array.from(document.querySelectorAll('#timeline option:enabled')).map(o => o.value)
        .filter(v => v && !document.querySelector(`#timeline g.marks[data-d="${v}"] rect`))""")
    tap.ok(not lacking, "each finding that can be chosen has its places in the timeline", str(lacking))
    told = page.value("""(() => { const of = selector => Array.from(document.querySelectorAll(selector)); return [
        of('.card').length, of('#timeline option').length - 1,
        of('#timeline option:disabled').filter(o => !/no place/.test(o.textContent)).length]; })()""")
    tap.ok(told[0] == told[1] and not told[2], "a finding that cannot be chosen stands there, too, and says so", str(told))


def check_curve(tap, page):
    """Memory over time is stacked, tells each band under the pointer, and zooms."""
    told = page.value("""Array.from(document.querySelectorAll('#memory-0 g.b title')).map(t => t.textContent)
        .concat(Array.from(document.querySelectorAll('#memory-0 path.band')).map(p => p.getBoundingClientRect().height))""")
    titles, heights = [t for t in told if isinstance(t, str)], [h for h in told if not isinstance(h, str)]
    tap.ok(titles and len(titles) == len(heights) and min(heights) > 0 and all("at most" in t and "allocations" in t
                                                                                for t in titles),
           "memory is stacked by what it is for", str(told))
    page.value("document.querySelector('#memory-0 path.band').dispatchEvent(new PointerEvent('pointerover', "
               "{ bubbles: true }))")
    said = page.value("document.querySelector('#memory-0 .info').textContent")
    tap.ok(said == titles[0], "a band tells its size, line and lifetime", said)
    state = """(() => { const svg = document.querySelector('#memory-0 svg'), band = svg.querySelector('path.band');
        return [Number(svg.dataset.zoom || 1), band.getBoundingClientRect().width,
                Array.from(svg.querySelectorAll('.axis text')).map(t => t.textContent).join(' ')]; })()"""
    before = page.value(state)
    page.value("""(() => { const svg = document.querySelector('#memory-0 svg'), box = svg.getBoundingClientRect();
        for (let i = 0; i < 6; i++) svg.dispatchEvent(new WheelEvent('wheel', { deltaY: -100,
          clientX: box.left + box.width / 2, clientY: box.top + 20, cancelable: true, bubbles: true })); })()""")
    after = page.value(state)
    tap.ok(3 < after[0] < 5 and after[1] > 3 * before[1] and after[2] != before[2], "the wheel zooms the curve",
           f"{before} {after}")
    sizes = "Array.from(document.querySelectorAll('#memory-0 g.bytes text')).map(t => t.textContent)"
    tap.ok(all(re.fullmatch(r"\d+(\.\d+)? ([KMGTP]i)?B", size) for size in page.value(sizes)) and page.value(sizes),
           "and its sizes follow", str(page.value(sizes)))
    page.value("document.querySelector('#memory-0 svg').focus()")
    page.press("Escape")
    again = page.value(state)
    tap.ok(again[0] == 1 and abs(again[1] - before[1]) < 1, "Escape shows all of it again", str(again))


def check_allocations(tap, page):
    """Under the pointer is one allocation: its size, its life, its stack, and its outline; in every band, also zoomed."""
    point = """(() => { const svg = document.querySelector('#memory-0 svg'), told = new Set(), outlines = new Set();
        for (const path of svg.querySelectorAll('path.band')) {
          const box = path.getBoundingClientRect();
          for (let i = 1; i < 30; i++) for (let k = 1; k < 12; k++) {
            const at = { clientX: box.left + box.width * i / 30, clientY: box.top + box.height * k / 12, bubbles: true };
            path.dispatchEvent(new PointerEvent('pointermove', at));
            const outline = svg.querySelector('path.chosen')?.getAttribute('d');
            if (outline && outline !== 'M0 0') {
              outlines.add(outline);
              told.add(svg.closest('figure').querySelector('.info').textContent);
            }
          }
        }
        return [Array.from(told), outlines.size,
                Array.from(outlines).some(d => /NaN|undefined|Infinity/.test(d))]; })()"""
    for zoomed in (False, True):
        told, outlines, broken = page.value(point)
        form = r"[\d.]+ ([KMGTP]i)?B for [^:]+(, in use for (at least )?[\d.]+ (us|ms|s)|, not freed|; )"
        tap.ok(len(told) > 1 and outlines > 1 and not broken and all(re.match(form, one) for one in told) and
               any("; by " in one for one in told),
               f"one allocation is told under the pointer{', zoomed' if zoomed else ''}", f"{outlines} {broken} {told[:4]}")
        page.click("#memory-0 .tools button")
    page.value("document.querySelector('#memory-0 svg').focus()")
    page.press("Escape")


def check_marks(tap, page):
    """A finding is chosen: its places are marked wherever time is drawn, and the timeline goes there."""
    state = """['#timeline', '#utilization'].map(id => Array.from(document.querySelectorAll(id + ' g.marks:not(.hidden)'))
        .map(g => g.dataset.d + ':' + g.querySelectorAll('rect').length))"""
    page.press("Escape")
    at = page.value("(() => { const g = document.querySelector('#timeline g.marks'); return g && g.dataset.d; })()")
    tap.ok(at and page.value(state) == [[], []], "no finding is marked before one is chosen", str(page.value(state)))
    page.value(f"""(() => {{ const s = document.querySelector('#timeline select'); s.value = '{at}';
        s.dispatchEvent(new Event('change')); }})()""")
    chosen, zoom = page.value(state), page.value("Number(document.querySelector('#timeline svg').dataset.zoom)")
    tap.ok(all(len(marks) == 1 and marks[0].startswith(f"{at}:") for marks in chosen) and zoom > 0,
           "a chosen finding is marked in every picture of time", f"{chosen} {zoom}")
    tap.ok(page.value("document.querySelector('#utilization select').value") == at, "one choice holds for all of them")
    page.value("""(() => { const s = document.querySelector('#timeline select'); s.value = '';
        s.dispatchEvent(new Event('change')); })()""")
    tap.ok(page.value(state) == [[], []], "and is taken back")


def check_plan(tap, page):
    """The list of all findings, the cards that fold, what can be copied."""
    lines = page.value("Array.from(document.querySelectorAll('.plan tbody tr')).map(r => r.cells[1].textContent)")
    titles = page.value("Array.from(document.querySelectorAll('.card h3')).map(h => h.textContent.replace(/^\\d+\\. /, ''))")
    tap.ok(lines and lines == titles, "the list has each finding, in the order of the cards", f"{lines} {titles}")
    is_open = "Array.from(document.querySelectorAll('.card > details')).map(d => d.open)"
    before = page.value(is_open)
    tap.ok(before[0] and not any(before[1:]), "the first card is open, the others are folded", str(before))
    page.value("document.querySelector('.plan a[href=\"#finding-2\"]').click()")
    page.value("new Promise(done => setTimeout(done, 100))")
    tap.ok(page.value(is_open)[1], "a click in the list opens its card", str(page.value(is_open)))
    above = page.value("(() => { const bar = document.querySelector('#split'), list = document.querySelector('.plan');"
                       " return !bar || bar.compareDocumentPosition(list) & Node.DOCUMENT_POSITION_FOLLOWING; })()")
    tap.ok(above, "the split of time stands above the findings")
    page.value("Object.defineProperty(navigator, 'clipboard', { configurable: true, value: "
               "{ writeText: t => { window.copied = t; return Promise.resolve(); } } })")
    page.value("document.querySelector('.card .copy').click()")
    copied = page.value("[window.copied, document.querySelector('.card pre code').textContent.trim()]")
    tap.ok(copied[0] and copied[0].strip() == copied[1], "commands are copied", str(copied))


def check_links(tap, page):
    """Findings lead to the pictures that show them and back; folded sections tell their figure; the contents stay."""
    there, back = page.value("""['.card .views a', 'figure .shows a'].map(s => Array.from(document.querySelectorAll(s))
        .map(a => (a.closest('figure') || a.closest('.card')).id + a.getAttribute('href')))""")
    turned = {"#".join(reversed(link.split("#"))) for link in back}
    tap.ok(there and set(there) == turned, "findings lead to pictures, and pictures back", f"{there} {back}")
    drawn = page.value("""(() => { const v = document.querySelector('.card details[open] .view'),
        box = v.getBoundingClientRect();
        return [box.width, box.height, v.querySelector('use').getBoundingClientRect().width]; })()""")
    tap.ok(min(drawn) > 20, "the picture stands beside its finding", str(drawn))
    last = back[-1].split("#")[1]
    page.value(f"document.querySelectorAll('.card > details').forEach(d => {{ d.open = false; }})")
    page.value(f"document.querySelector('figure .shows a[href=\"#{last}\"]').click()")
    page.value("new Promise(done => setTimeout(done, 100))")
    tap.ok(page.value(f"document.querySelector('#{last} > details').open"), "the way back opens the card", last)
    page.value("document.querySelectorAll('section.s > details').forEach(d => { d.open = false; })")
    told = page.value("Array.from(document.querySelectorAll('section.s > details:not([open]) > summary .main'))"
                      ".filter(m => m.getBoundingClientRect().height > 5).map(m => m.textContent)")
    tap.ok(len(told) > 6 and all(re.search(r"\d", words) for words in told) and any("want of input" in w for w in told),
           "folded sections tell their figure, or how many they have", str(told))
    stays = page.value("""(() => { window.scrollTo(0, 3000);
        const box = document.querySelector('nav').getBoundingClientRect();
        const names = Array.from(document.querySelectorAll('nav .parts a')).map(a => a.textContent);
        return [box.top, names.includes('GPU') && names.includes('GPU kernels by family')]; })()""")
    tap.ok(stays == [0, True], "the contents stay in view, with pictures and sections", str(stays))


def check_labels(tap, page, name):
    """Words stay within what they name, and drawings end where their lowest row does."""
    beyond = page.value("""Array.from(document.querySelectorAll('svg.flame g[data-d], svg.timeline g.b')).flatMap(g => {
        const text = g.querySelector('text'), rect = g.querySelector('rect');
        if (!text || g.classList.contains('hidden')) return [];
        const over = text.getBBox().x + text.getBBox().width - rect.getBBox().x - rect.getBBox().width;
        return over > 1 ? [`${text.textContent}: ${over.toFixed(1)}`] : []; })""")
    tap.ok(not beyond, f"{name}: labels stay within their bars", "\n".join(beyond[:10]))
    beyond = page.value("""(() => { const svg = document.querySelector('#kernel-map svg');
        if (!svg) return [];
        const areas = Array.from(svg.querySelectorAll('rect')).map(r => r.getBBox());
        return Array.from(svg.querySelectorAll('text')).filter(t => { const b = t.getBBox(), inside = areas.filter(a =>
            a.x <= b.x && a.y <= b.y + 1 && a.x + a.width >= b.x + 8 && a.y + a.height >= b.y + b.height - 1);
          return !inside.some(a => b.x + b.width <= a.x + a.width + 1); }).map(t => t.textContent); })()""")
    tap.ok(not beyond, f"{name}: names of kernels stay within their areas", str(beyond[:10]))
    touching = page.value("""(() => { const svg = document.querySelector('#roofline svg');
        const boxes = svg ? Array.from(svg.querySelectorAll('text')).map(t => [t.textContent, t.getBBox()]) : [];
        return boxes.filter(([, a], i) => boxes.some(([, b], k) => k < i && a.x < b.x + b.width && b.x < a.x + a.width &&
            a.y + 2 < b.y + b.height && b.y + 2 < a.y + a.height)).map(([words]) => words); })()""")
    tap.ok(not touching, f"{name}: labels of the roofline do not lie on each other", str(touching))
    empty = page.value("""Array.from(document.querySelectorAll('svg.flame')).map(svg => { const lowest = Math.max(
        ...Array.from(svg.querySelectorAll('g[data-d]:not(.hidden) rect')).filter(r => r.width.baseVal.value >= 1)
          .map(r => r.y.baseVal.value + r.height.baseVal.value));
        return svg.viewBox.baseVal.height - lowest; })""")
    tap.ok(all(abs(rest - 1) < 1 for rest in empty), f"{name}: flame graphs are as high as they are deep", str(empty))


def check_snapshot(tap, page):
    """Of a snapshot alone the first screen says how full, of what, and what would fit."""
    top = page.value("""(() => { const h = document.querySelector('header'), bar = h.querySelector('#memory-owners svg');
        return [h.innerText, bar ? bar.querySelectorAll('rect').length : 0]; })()""")
    said = ("Out of memory", "The last request that failed was for", "the largest free piece has", "optimizer state",
            "Most by")
    tap.ok(all(words in top[0] for words in said) and top[1] > 2,
           "the first screen of a snapshot: how full, of what, what fits", str(top))


def check_policy(tap, page):
    """Even markup that came through would neither run nor load."""
    page.value("""new Promise(done => { const s = document.createElement('script');
        s.textContent = 'window.pwned = 1'; document.body.append(s);
        const i = document.createElement('img'); i.setAttribute('onerror', 'window.pwned = 2');
        i.src = 'https://example.invalid/x.png'; document.body.append(i);
        const d = document.createElement('p'); d.setAttribute('style', 'position: fixed'); document.body.append(d);
        window.styled = getComputedStyle(d).position;
        fetch('https://example.invalid/').catch(() => {}); setTimeout(done, 300); })""")
    tap.ok(page.value("window.pwned") is None, "the policy keeps foreign script from running")
    tap.ok(page.value("window.styled") == "static", "and foreign style from applying")
    asked = [url for url in page.requests() if url.startswith("http")]
    failed = [event["params"].get("blockedReason") for event in page.mine() if event["method"] == "Network.loadingFailed"]
    tap.ok(len(failed) >= len(asked) and set(failed) <= {"csp"}, "and everything from loading", f"{asked} {failed}")


def check_without_script(tap, browser, path, pictures):
    page = Page(browser, script=False)
    page.open(path)
    check_quiet(tap, page, "without script")
    tap.ok(page.value("document.documentElement.dataset.script === undefined && !document.querySelector('button, input')"),
           "without script there is no button that would do nothing")
    seen = page.value("Array.from(document.querySelectorAll('svg.chart')).filter(s => "
                      "s.getBoundingClientRect().height > 10 && "
                      "s.querySelectorAll('rect, path').length > 1).map(s => s.closest('figure').id)")
    lacking = [picture for picture in pictures.split() if picture not in seen]
    tap.ok(not lacking, "without script every picture is drawn", str(lacking))
    tap.ok(page.value("document.querySelectorAll('#findings article').length") > 0, "without script the findings are there")
    page.click("section.s summary")
    tap.ok(page.value("document.querySelector('section.s > details').open"), "without script sections open")
    page.close()


def check_narrow(tap, page, scheme):
    """What zooms is as wide as the screen and keeps the size of its rows; what scrolls says so and is in reach of the
    keyboard."""
    zooming = page.value("""Array.from(document.querySelectorAll('svg.flame, svg.timeline')).map(s => [
        s.parentElement.clientWidth, s.getBoundingClientRect().width,
        Math.max(...Array.from(s.querySelectorAll('g rect')).map(r => r.getBoundingClientRect().height))])""")
    tap.ok(len(zooming) == 3 and all(abs(box - wide) < 1 and row > 15 for box, wide, row in zooming),
           f"flame graphs and timelines fit a phone, {scheme}", str(zooming))
    scrolling = page.value("""Array.from(document.querySelectorAll('.scroll'))
        .filter(b => b.scrollWidth > b.clientWidth).map(b => [
        b.tabIndex, b.getAttribute('role'),
        document.getElementById(b.getAttribute('aria-labelledby')).textContent, getComputedStyle(b, '::before').content])""")
    tap.ok(len(scrolling) > 4
           and all(at == 0 and role == "region" and name and "sideways" in hint for at, role, name, hint in scrolling),
           f"a chart that scrolls says so and takes the focus, {scheme}", str(scrolling))


def count_pages(page):
    pdf = base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
    return len(re.findall(rb"/Type\s*/Page\b", pdf)) if pdf.startswith(b"%PDF") else 0


def check_speed(tap, browser, path, name):
    """Time of the processor, which does not depend on what else the machine does."""
    page = Page(browser, width=1400)
    page.call("Performance.enable", timeDomain="threadTicks")
    page.open(path)
    page.value("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    took = {metric["name"]: metric["value"] for metric in page.call("Performance.getMetrics")["metrics"]}["TaskDuration"]
    tap.ok(took < MOST_SECONDS, f"{name}: opens in half a second", f"{took:.2f} s")
    page.close()


def check_looks(tap, browser, path):
    for dark in (False, True):
        page = Page(browser, width=390, height=844, dark=dark)
        page.open(path)
        scheme = "dark" if dark else "light"
        width = page.value("document.scrollingElement.scrollWidth")
        tap.ok(width <= 390, f"a phone does not scroll sideways, {scheme}", str(width))
        check_narrow(tap, page, scheme)
        first = page.value("""(() => {
            const e = document.querySelector('.first'), f = document.querySelector('.plan tbody tr');
            return { bottom: e.getBoundingClientRect().bottom, text: e.innerText, title: f.querySelector('a').textContent,
                     where: f.querySelector('code').textContent }; })()""")
        tap.ok(first["bottom"] < 844 and all(words in first["text"] for words in (first["title"], first["where"],
                                                                                 "saves at most", "What to do:")),
               f"the first screen of a phone tells what, where, how much and what to do, {scheme}", str(first))
        bright = page.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).reduce((a, "
                            "b) => a + b)")
        tap.ok((bright < 200) == dark, f"{scheme} is {scheme}", str(bright))
        page.close()
    page = Page(browser, width=PAPER)
    page.open(path)
    page.call("Emulation.setEmulatedMedia", media="print")
    page.value("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    beyond = page.value(f"""Array.from(document.querySelectorAll('table, svg'))
        .filter(e => e.getBoundingClientRect().right > {PAPER})
        .map(e => e.closest('[id]').id + ': ' + e.getBoundingClientRect().right)""")
    tap.ok(not beyond, "no table and no picture is wider than the paper", "\n".join(beyond))
    dark = page.value("Array.from(document.querySelectorAll('.sev')).filter(s => s.offsetParent && "
                      "getComputedStyle(s).backgroundColor !== 'rgba(0, 0, 0, 0)').length")
    tap.ok(dark == 0, "severities on paper stand on nothing: browsers print no color behind text", str(dark))
    page.close()
    page = Page(browser)
    page.open(path)
    pages = [count_pages(page)]
    page.value("document.querySelectorAll('section.s > details, .card > details').forEach(d => { d.open = true; })")
    pages.append(count_pages(page))
    tap.ok(1 <= pages[0] <= MOST_PAGES < pages[1], "what is open is printed, on few pages", str(pages))
    page.close()


def check_all(tap, browser, reports):
    for name, (arguments, pictures) in CASES.items():
        path = reports.write(name, arguments)
        page = check_page(tap, browser, path, name, pictures)
        if name == "trace and snapshot":
            check_tables(tap, page)
            check_codes(tap, page)
            check_flame(tap, page, "host-flame")
            check_flame(tap, page, "memory-flame")
            check_timeline(tap, page)
            check_timeline_by_hand(tap, page)
            check_timeline_beyond(tap, page)
            check_curve(tap, page)
            check_allocations(tap, page)
            check_marks(tap, page)
            check_labels(tap, page, name)
            check_plan(tap, page)
            check_links(tap, page)
            check_quiet(tap, page, "after all that")
            check_policy(tap, page)
            check_without_script(tap, browser, path, pictures)
            check_looks(tap, browser, path)
            check_speed(tap, browser, path, name)
        if name == "nothing":
            said = page.value("document.querySelector('header .first').innerText")
            tap.ok(said.startswith("The trace has no events"), "the first screen says that nothing was there", said)
        if name == "snapshot":
            check_snapshot(tap, page)
        page.close()
    traces = os.environ.get("AP_TRACES")
    for name, pictures in REAL.items():
        if not traces or not (Path(traces) / name).is_file():
            tap.skip(name, "no such sample trace")
            continue
        path = reports.write(name, [Path(traces) / name])
        page = check_page(tap, browser, path, name, pictures)
        check_labels(tap, page, name)
        page.close()
        check_speed(tap, browser, path, name)


def main():
    parser = parser_of(__doc__)
    arguments = parser.parse_args()
    tap = Tap()
    check_colors(tap, (ROOT / "src/report/html/report.css").read_text(encoding="utf-8"))
    path = find_browser()
    if not path:
        print("# *** no chromium here: the HTML report is NOT tested in a browser (apt-get install chromium)", flush=True)
        tap.skip("the HTML report in a browser", "no chromium")
        return tap.done()
    with tempfile.TemporaryDirectory() as folder, Browser(path) as browser:
        check_all(tap, browser, Reports(arguments.program, folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
