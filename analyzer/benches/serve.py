#!/usr/bin/env python3
"""What `serve` takes on a large run: until there is something to see, and until a zoom is drawn, in Chromium.

    cargo build --workspace --lib --bins --examples
    python3 analyzer/benches/serve.py [RUN]

Without a run the example `decode` records one of 10 M rows into a folder for temporary files, and it is removed at the
end. Printed are, counted from the start of the command: until its address is printed, until a page that is opened then
is painted (first contentful paint) and names the run, and until its timeline is drawn, for which all rows are read; of a
page that is opened later, paint and timeline counted from its opening; of 200 windows over all levels of zoom at random
places, the time of the answer alone and that from the zoom until it is drawn, as median and maximum; and the memory of
the server. Its report is made in the background meanwhile, unless it is waited for (`--settled`). Other work on the
machine moves all of it.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from report import PROGRAM, record

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-extensions --window-size=1280,800 --remote-debugging-pipe"
WINDOWS = 200


class Browser:
    """Chromium by its protocol, over a pipe: each message ends with a zero byte."""

    def __init__(self, folder):
        there_in, self.to = os.pipe()
        self.of, there_out = os.pipe()

        def streams():
            # Where the numbers 3 and 4 are taken by the pipes themselves they are moved away first.
            read, write = os.dup(there_in), os.dup(there_out)
            os.dup2(read, 3)
            os.dup2(write, 4)

        name = next((name for name in BROWSERS if subprocess.run(["which", name], capture_output=True).returncode == 0), None)
        if name is None:
            sys.exit("no Chromium in PATH (.ci/chromium installs it)")
        command = [name, *FLAGS.split(), f"--user-data-dir={folder}/profile", "about:blank"]
        self.child = subprocess.Popen(command, preexec_fn=streams, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.rest = 0, b""
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += os.read(self.of, 1 << 20)
            answer, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, script):
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            sys.exit(f"{script}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait(self, script):
        while not (found := self.value(script)):
            time.sleep(0.005)
        return found


PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
HEAD = "document.getElementById('status')?.textContent.includes('rows') || document.getElementById('status')?.textContent.includes('interval')"
DRAWN = "document.getElementById('drawn')?.textContent.includes('one by one') && performance.now()"
ZOOM = """new Promise(done => {
  const began = performance.now();
  const before = lanes.data;
  lanes.look(%d, %d);
  const look = () => lanes.data !== before && !lanes.isAsked ? requestAnimationFrame(() => done(performance.now() - began)) : requestAnimationFrame(look);
  look();
})"""


def spread(name, times):
    times = sorted(times)
    print(f"{name:<44}{times[len(times) // 2]:8.1f} ms median{times[-1]:8.1f} ms at most", flush=True)


def measure(run, folder, settled):
    browser = Browser(folder)
    began = time.monotonic()
    since = lambda: (time.monotonic() - began) * 1e3
    server = subprocess.Popen([PROGRAM, "serve", run], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    address = server.stdout.readline().strip()
    print(f"{'address is printed after':<44}{since():8.0f} ms")
    browser.call("Page.navigate", url=address)
    browser.wait(HEAD)
    print(f"{'page that is opened then names the run after':<44}{since():8.0f} ms")
    painted = browser.wait(PAINTED)
    print(f"{'  its first paint, from its opening':<44}{painted:8.0f} ms")
    browser.wait(DRAWN)
    print(f"{'  its timeline is drawn after':<44}{since():8.0f} ms")
    print(browser.value("document.getElementById('status').textContent + ' · ' + document.getElementById('drawn').textContent"))
    host, base = address.removeprefix("http://").split("/", 1)
    connection = http.client.HTTPConnection(host)

    def ask(path):
        connection.request("GET", f"/{base}{path}")
        return connection.getresponse().read()

    while settled and json.loads(ask("made?run=0"))["is"] == "making":
        pass
    browser.call("Page.navigate", url="about:blank")
    painted, drawn = [], []
    for _ in range(10):
        browser.call("Page.navigate", url="about:blank")
        browser.call("Page.navigate", url=address)
        drawn.append(browser.wait(DRAWN))
        painted.append(browser.wait(PAINTED))
    spread("page that is opened later: first paint", painted)
    spread("page that is opened later: timeline", drawn)
    first, last = json.loads(ask("state"))["runs"][0]["extent_ns"]
    numbers = random.Random(1)
    answers, zooms, sizes = [], [], []
    for _ in range(WINDOWS):
        width = max(100, (last - first) * 10 ** numbers.uniform(-7, 0))
        start = numbers.uniform(first, last - width)
        began = time.monotonic()
        sizes.append(len(ask(f"window?run=0&from={int(start)}&until={int(start + width)}&pixels=1080&lanes=0")))
        answers.append((time.monotonic() - began) * 1e3)
        zooms.append(browser.value(ZOOM % (start, start + width)))
    spread("window: the answer alone", answers)
    print(f"{'window: its size at most':<44}{max(sizes) / 1e3:8.0f} kB")
    spread("zoom, until it is drawn", zooms)
    with open(f"/proc/{server.pid}/status") as status:
        memory = next(line for line in status if line.startswith("VmRSS"))
    print(f"{'memory of the server':<44}{int(memory.split()[1]) / 1e3:8.0f} MB")
    server.send_signal(2)
    server.wait()
    browser.child.kill()
    browser.child.wait()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("run", nargs="?")
    arguments.add_argument("--settled", action="store_true", help="wait until the report is made in the background")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        measure(given.run or record(folder), folder, given.settled)


if __name__ == "__main__":
    main()
