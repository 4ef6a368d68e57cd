"""A headless Chromium that a test drives: clicks, keys, what the page says, and everything it complains about.

Chromium's DevTools protocol over a pipe: messages of JSON that end with a zero byte. Python's standard library is
enough.
"""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

ANSWER_SECONDS = 120


def program():
    """Chromium's path, or None."""
    names = [os.environ.get("ISOBIT_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="isobit_chromium_")
        # Away from the numbers 3 and 4, which the child's ends are to have.
        theirs_in, self.to = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())
        self.back, theirs_out = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())

        def ends():
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        # Without its sandbox, which neither root nor most containers can have: it opens files of ours alone.
        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--remote-debugging-pipe", "--no-first-run", "--disable-extensions", "--disable-background-networking",
             f"--user-data-dir={self.profile}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=ends,
            pass_fds=(3, 4))
        os.close(theirs_in)
        os.close(theirs_out)
        self.rest, self.number, self.events = b"", 0, []

    def close(self):
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.rest:
            if not select.select([self.back], [], [], ANSWER_SECONDS)[0]:
                raise RuntimeError(f"Chromium did not answer within {ANSWER_SECONDS} s")
            block = os.read(self.back, 1 << 20)
            if not block:
                raise RuntimeError("Chromium ended")
            self.rest += block
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if session:
            request["sessionId"] = session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            message = self._message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def open(self, path, width=1280, height=900):
        return Page(self, path, width, height)


class Page:
    def __init__(self, browser, path, width, height):
        self.browser = browser
        self.browser.events.clear()
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, **features):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": k.replace("_", "-"), "value": v} for k, v in features.items()])

    def js(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def wait(self, condition):
        end = time.monotonic() + ANSWER_SECONDS
        while not self.js(condition):
            if time.monotonic() > end:
                raise AssertionError(f"never came true: {condition}")
            time.sleep(0.02)

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)}).textContent")

    def click(self, selector, at=(0.5, 0.5)):
        """A real click at that part of the element, which is scrolled into view first."""
        x, y = self.js(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
                       "e.scrollIntoView({block: 'center', inline: 'center'}); const b = e.getBoundingClientRect(); "
                       f"return [b.x + b.width * {at[0]}, b.y + b.height * {at[1]}]; }})()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name, text=""):
        codes = {"Tab": 9, "Enter": 13, "ArrowUp": 38, "ArrowDown": 40, "Home": 36, "End": 35, "PageDown": 34}
        what = {"key": name, "code": name, "windowsVirtualKeyCode": codes.get(name, 0)}
        if name == "Enter":
            text = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **what)
        self.call("Input.dispatchKeyEvent", type="keyUp", **what)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def accessible(self):
        """The nodes that a screen reader is told of: (role, name)."""
        self.call("Accessibility.enable")
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes
                if not n.get("ignored") and "role" in n]

    def screenshot(self, path, selector=None):
        params = {}
        if selector:
            box = self.js(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
                          "return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()")
            params["clip"] = dict(zip(("x", "y", "width", "height"), box), scale=1)
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, **params)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def complaints(self):
        """Errors, dialogs and requests, but for the page's own file and pictures that are in it."""
        self.js("1")  # whatever came before has arrived
        found = []
        for event in self.browser.events:
            method, params = event.get("method"), event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening", "Log.entryAdded"):
                found.append((method, json.dumps(params)[:400]))
            if method == "Runtime.consoleAPICalled":
                found.append((method, json.dumps(params)[:400]))
            if method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if url != params.get("documentURL") and not url.startswith("data:image/svg+xml;"):
                    found.append((method, url[:400]))
        return found
