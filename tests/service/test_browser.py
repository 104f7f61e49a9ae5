"""The page in a real browser, where one is installed: it fills itself, without an error and without another host."""

import re
import shutil
import signal
import subprocess
import sys
import time

import httpx
import pytest

from stumpery.client import Client

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-logging=stderr"]


@pytest.fixture
def address(tmp_path):
    """A site in two processes of their own, of which the second has made decisions for some seconds."""
    settings = tmp_path / "site.toml"
    settings.write_text('port = 0\n[policies.default]\nactions = ["news", "sport", "film"]\nlearn_at_once = true\n')
    command = [sys.executable, "-m", "stumpery", "serve", settings, "--name"]
    servers = []
    try:
        for name in ("first", "second"):
            servers.append(subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True))
            address = re.search(r"http://\S+", servers[-1].stdout.readline())[0]
        with Client(address, timeout_s=60) as client:
            for second in range(3):
                for hour in range(8):
                    decision = client.decide({"hour": hour, "device": "<b>phone</b>"})
                    client.reward(decision, float(decision.action == "film"))
                time.sleep(0.0 if second == 2 else 1.0)
        wait_for_decisions(address, 24)
        yield address
    finally:
        for server in servers:
            server.send_signal(signal.SIGTERM)
        for server in servers:
            server.communicate(timeout=60)


def wait_for_decisions(address, n):
    """Look at the statistics until the log has been followed so far: it is read only while somebody looks."""
    deadline = time.monotonic() + 30
    while (shown := httpx.get(f"{address}/v1/policies/default/statistics").json()["decisions"]) < n:
        assert time.monotonic() < deadline, f"{shown} of {n} decisions are shown"
        time.sleep(0.1)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_the_page_fills_itself(address, tmp_path):
    command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'browser'}", "--virtual-time-budget=6000", "--dump-dom"]
    result = subprocess.run([*command, address], capture_output=True, text=True, timeout=120, check=True)
    page = result.stdout
    assert [line for line in result.stderr.splitlines() if "CONSOLE" in line] == []
    assert page.count('class="figure"') == 8
    assert re.search(r"decisions</span><b>24</b>", page)
    for chart in ("reward per decision", "share of decisions", "exploration"):
        assert f'aria-label="{chart} over time"' in page
    assert re.search(r"<strong>default, as it served</strong></td><td[^>]*>0?\.\d+<", page)
    assert re.search(r"always film</td><td[^>]*>1<", page)
    assert page.count("<option value=") >= 1  # a time to roll back to
    assert page.count(">Why?<") == 15
    assert "&lt;b&gt;phone&lt;/b&gt;" in page
    assert "<b>phone" not in page
    assert re.search(r"<td[^>]*>first</td><td[^>]*>server, leads</td><td[^>]*>ready</td>", page)
    assert re.search(r"<td[^>]*>second \(this one\)</td><td[^>]*>server</td>", page)
