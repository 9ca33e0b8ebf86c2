# SPDX-License-Identifier: MIT
"""A browser without a window, driven over a pipe by the DevTools protocol: nothing but the standard library, no port."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find_browser():
    return os.environ.get("AP_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class BrowserError(Exception):
    pass


class Browser:
    """Starts the browser with a profile of its own; everything is gone behind `with`."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        to_read, self.to_write = os.pipe()
        self.to_read, to_write = os.pipe()
        # The browser reads commands from 3 and writes answers to 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}', self.path, "--headless=new", "--no-sandbox",
             "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--hide-scrollbars", f"--user-data-dir={self.folder.name}",
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.events, self.number = b"", [], 0
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except BrowserError:
            self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to_write)
        os.close(self.to_read)
        try:
            self.folder.cleanup()
        except OSError:
            pass # a child of the browser may still be writing; the folder is a temporary one

    def receive(self, seconds):
        """The next message, or None when none comes in time."""
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.to_read], [], [], left)[0]:
                return None
            data = os.read(self.to_read, 1 << 16)
            if not data:
                raise BrowserError("the browser has ended")
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        try:
            os.write(self.to_write, json.dumps(message).encode() + b"\0")
        except OSError as error:
            raise BrowserError(str(error)) from error
        while True:
            answer = self.receive(60)
            if answer is None:
                raise BrowserError(f"{method}: no answer")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)


class Page:
    """One tab. Keeps what was asked from the network, and what the console said."""

    def __init__(self, browser, width=1280, height=900, dark=False, script=True):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        if not script:
            self.call("Emulation.setScriptExecutionDisabled", value=True)

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def open(self, path):
        self.call("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + 60
        while not any(event.get("method") == "Page.loadEventFired" for event in self.mine()):
            if time.monotonic() > end:
                raise BrowserError("the page does not load")
            event = self.browser.receive(1)
            if event:
                self.browser.events.append(event)

    def mine(self):
        return [event for event in self.browser.events if event.get("sessionId") == self.session]

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.mine() if event["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """What the console, the page or the policy complained about."""
        found = []
        for event in self.mine():
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str(params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return found

    def value(self, expression):
        """Of an expression in the page; also where the page may run no script of its own."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise BrowserError(result["exceptionDetails"].get("exception", {}).get("description",
                                                                                   "failed") + ": " + expression)
        return result["result"].get("value")

    def press(self, key, text=""):
        code = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39,
                "Tab": 9}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            params = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            if kind == "keyDown" and text:
                params["text"] = text
            self.call("Input.dispatchKeyEvent", **params)

    def click(self, selector):
        """With the pointer, in the middle of what is found."""
        box = self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: "
                         f"'center'}});"
                         " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
