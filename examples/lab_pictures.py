"""Pictures of the interactive page, one a view, as docs/lab.md shows them.

Run it as ``python examples/lab_pictures.py FOLDER``; it needs Chromium and the packages playwright and Pillow.
"""

import shutil
import sys
import threading
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from maxmargin.lab.server import Server
from maxmargin.lab.state import State, encode, from_preset

SMO = from_preset("overlap", "smo", C=1.0)
ONLINE = from_preset("separable", "online")
# File, state, step, selector ("" for the whole page), width and height of the window.
PICTURES: tuple[tuple[str, State, int, str, int, int], ...] = (
    ("lab", SMO, 6, "", 1400, 1000),
    ("lab-plane", from_preset("separable", "hulls"), 2, ".mm-plane svg", 1400, 900),
    ("lab-proof", ONLINE, 4, ".mm-proof", 1400, 900),
    ("lab-code", ONLINE, 4, ".mm-code", 1400, 900),
    ("lab-duals", SMO, 6, ".mm-duals", 1400, 900),
    ("lab-curves", SMO, 30, ".mm-curves", 1400, 900),
    ("lab-trace", SMO, 12, ".mm-trace", 1400, 900),
    ("lab-kernel", from_preset("circles", "smo", kernel="rbf", C=10.0), 40, ".mm-plane svg", 1400, 900),
    ("lab-phone", ONLINE, 4, "", 390, 844),
)


def main(folder: Path) -> None:
    """Open the page, take all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    server = Server(0)
    threading.Thread(target=server.run, daemon=True).start()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, state, step, selector, width, height in PICTURES:
            tab: Page = browser.new_page(viewport={"width": width, "height": height})
            tab.goto(f"{server.address}#{encode(state)}~{step}")
            tab.wait_for_selector(f".mm-trace tr[aria-current]:not([data-step='{0 if step else -1}'])")
            tab.wait_for_timeout(500)
            target = tab.locator(selector).first if selector else tab
            path = folder / f"{name}.png"
            target.screenshot(path=path)
            Image.open(path).convert("RGB").quantize(200, dither=Image.Dither.NONE).save(path, optimize=True)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
            tab.close()
        browser.close()
    server.stop()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/lab_pictures.py FOLDER")
    main(Path(sys.argv[1]))
