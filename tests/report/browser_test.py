"""The report as a person uses it, in a real browser: clicked through, by keys alone, as a screen reader hears it, and
with names that would be scripts if anything took them for markup.

ISOBIT and ISOBIT_EXAMPLE_LAB name the programs. ISOBIT_SCREENSHOTS, where set, is a folder for pictures of it all.
"""
import os
import subprocess
import sys
import tempfile
import shutil
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli")]
import browser  # noqa: E402
import onnx_by_hand as onnx  # noqa: E402

OPERATORS = 1000


def small_model(path):
    """A convolution, which algorithms compute with other bits."""
    weights = [((7 * i) % 23) / 19 - 0.5 for i in range(54)]
    with open(path, "wb") as f:
        f.write(onnx.model(onnx.graph(
            [onnx.node("Conv", ["x", "w"], ["a"], "first"), onnx.node("Relu", ["a"], ["y"], "rectified")],
            [onnx.value("x", [1, 3, 14, 14])], tensors=[onnx.floats("w", [2, 3, 3, 3], *weights)])))
    return path


def make_report(folder, name, *lab, more=()):
    lab_file, page = os.path.join(folder, name + ".lab"), os.path.join(folder, name + ".html")
    lab = [lab_file if word == "LAB" else word for word in lab] if "LAB" in lab else [*lab, lab_file]
    subprocess.run([os.environ["ISOBIT_EXAMPLE_LAB"], *lab], check=True)
    done = subprocess.run([os.environ["ISOBIT"], "explain", lab_file, "--out", page, *more], capture_output=True, text=True)
    assert done.returncode == 1, done  # the platforms differ
    return page


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="isobit_report_")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.network = make_report(cls.folder, "network", "network", str(OPERATORS))
        cls.small = make_report(cls.folder, "small", "network", "40")
        cls.hostile = make_report(cls.folder, "hostile", "hostile")
        model = small_model(os.path.join(cls.folder, "m.onnx"))
        cls.replayed = make_report(cls.folder, "replayed", "measured", model, "LAB", "ordered@portable/1t",
                                   "ordered@portable/1t+winograd4", more=("--model", model))
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def picture(self, page, name, selector=None):
        if os.environ.get("ISOBIT_SCREENSHOTS"):
            page.screenshot(os.path.join(os.environ["ISOBIT_SCREENSHOTS"], name + ".png"), selector)

    def chosen(self, page):
        return page.text("#details h3")

    def rows(self, page):
        return page.js("[...document.querySelectorAll('#operator-grid .body .row')].map(r => Number(r.dataset.value))")

    def test_a_thousand_operators_are_there_and_few_rows_exist(self):
        page = self.browser.open(self.network)
        self.assertEqual(page.js("document.querySelectorAll('#graph g.node').length"), OPERATORS)
        self.assertIn(f"{OPERATORS} values", page.text("#row-count"))
        self.assertLess(page.js("document.querySelectorAll('#operator-grid .body .row').length"), 60)
        page.js("document.getElementById('operator-grid').scrollTop = 1e9")
        page.wait(f"document.querySelector('#operator-grid .row[data-value=\"{OPERATORS - 1}\"]') !== null")
        self.assertLess(page.js("document.querySelectorAll('#operator-grid .body .row').length"), 60)
        took = page.js("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        print(f"{OPERATORS} operators: page of {os.path.getsize(self.network) >> 10} KiB ready after {took:.0f} ms")
        self.picture(page, "network")
        self.assertEqual(page.complaints(), [])

    def test_the_answer_comes_first(self):
        page = self.browser.open(self.network)
        self.assertIn("12 platforms ran", page.text("#answer p"))
        self.assertIn("The first operator whose outputs differ while its inputs agree", page.text("#answer"))
        self.assertEqual(page.js("document.querySelector('main > section').id"), "answer")
        self.assertIn("did not run: no converter", page.text("#platform-table"))

    def test_clicks(self):
        page = self.browser.open(self.network)
        page.click("#operator-grid .body .row:nth-child(3)")
        third = page.js("document.querySelector('#operator-grid .body .row:nth-child(3) span:nth-child(3)').title")
        self.assertEqual(self.chosen(page), third)
        page.click("#next-fork")
        self.assertIn("introduced", page.text("#details"))
        self.assertIn("Equal inputs, different outputs", page.text("#details"))
        first = self.chosen(page)
        page.click("#next-fork")
        self.assertNotEqual(self.chosen(page), first)
        self.picture(page, "details", "#operators")
        # The chart and the drawing choose, too, and the table follows.
        page.click("#layer-chart", (0.75, 0.5))
        from_chart = self.chosen(page)
        self.assertIn(from_chart, page.js("document.querySelector('#operator-grid [aria-selected=true]').textContent"))
        page.click("#node-7")
        self.assertEqual(page.js("document.querySelector('#graph .chosen').id"), "node-7")
        self.assertNotEqual(self.chosen(page), from_chart)
        self.assertEqual(page.complaints(), [])

    def test_causes(self):
        page = self.browser.open(self.replayed)
        self.assertIn("Replayed on this machine", page.text("#causes"))
        self.assertEqual(page.js("document.querySelectorAll('#trials tbody tr').length"), 1)
        self.assertIn("differs in this alone", page.text("#trials tbody"))
        page.wait("[...document.querySelectorAll('#causes img')].every(i => i.complete)")
        self.assertGreater(page.js("document.querySelector('#causes img').naturalWidth"), 0)
        self.assertIn("tree", page.js("document.querySelector('#causes img').alt"))
        page.click("#show-cause")
        self.assertEqual(self.chosen(page), "a")
        self.assertIn("differs on equal inputs", page.text("#details"))
        self.picture(page, "causes", "#causes")
        self.assertEqual(page.complaints(), [])

    def test_filters_and_columns(self):
        page = self.browser.open(self.network)
        page.js("document.getElementById('filter').focus()")
        page.type("softmax")
        page.wait("document.getElementById('row-count').textContent === '1 value'")
        self.assertEqual(self.rows(page), [OPERATORS - 1])
        page.js("{ const s = document.getElementById('filter'); s.value = ''; s.dispatchEvent(new Event('input')); }")
        page.js("{ const k = document.getElementById('kind'); k.value = 'introduced'; "
                "k.dispatchEvent(new Event('change')); }")
        kinds = page.js("[...document.querySelectorAll('#operator-grid .body .row span:nth-child(7)')].map(e => e.textContent)")
        self.assertTrue(kinds)
        self.assertEqual(set(kinds), {"introduced"})
        columns = page.js("document.querySelectorAll('#operator-grid [role=columnheader]').length")
        page.click("#platform-choice input:not(:checked)")
        self.assertEqual(page.js("document.querySelectorAll('#operator-grid [role=columnheader]').length"), columns + 1)
        self.assertEqual(page.complaints(), [])

    def test_platforms_that_differ_are_shown_first(self):
        page = self.browser.open(self.network)
        shown, first = page.js("[[...document.querySelectorAll('#platform-choice input:checked')].map(box => Number(box.value)), "
                               "(d => d.values[d.first_introduced].of)(JSON.parse(document.getElementById('data').textContent))]")
        self.assertEqual(len(shown), 8)
        self.assertEqual({first[p] for p in shown}, set(first))

    def test_by_keys_alone(self):
        page = self.browser.open(self.network)
        page.key("Tab")
        self.assertEqual(page.js("document.activeElement.className"), "skip")
        page.key("Enter")
        page.wait("location.hash === '#operators'")
        for _ in range(60):
            page.key("Tab")
            if page.js("document.activeElement.classList.contains('row')"):
                break
        self.assertEqual(page.js("document.activeElement.dataset.value"), "0")
        for _ in range(3):
            page.key("ArrowDown")
        page.key("Enter")
        self.assertEqual(page.js("document.querySelector('#operator-grid [aria-selected=true]').dataset.value"), "3")
        page.key("End")
        self.assertEqual(page.js("document.activeElement.dataset.value"), str(OPERATORS - 1))
        page.key("Home")
        self.assertEqual(page.js("document.activeElement.dataset.value"), "0")
        # The nodes of the drawing are one stop, with arrows between them.
        page.js("document.querySelector('#graph g.node[tabindex=\"0\"]').focus()")
        here = page.js("document.activeElement.id")
        page.key("ArrowDown")
        self.assertNotEqual(page.js("document.activeElement.id"), here)
        page.key("Enter")
        self.assertEqual(page.js("document.querySelector('#graph .chosen').id"), page.js("document.activeElement.id"))
        self.assertEqual(page.complaints(), [])

    def test_a_screen_reader_has_names_for_everything(self):
        page = self.browser.open(self.small)
        nodes = page.accessible()
        roles = [role for role, _ in nodes]
        for role in ("main", "heading", "region", "grid", "columnheader", "button", "checkbox", "searchbox", "image"):
            self.assertIn(role, roles)
        nameless = [role for role, name in nodes if not name and role in (
            "button", "checkbox", "searchbox", "combobox", "image", "grid", "region", "link", "heading", "columnheader")]
        self.assertEqual(nameless, [])
        levels = page.js("[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))")
        self.assertEqual(levels[0], 1)
        self.assertEqual(levels.count(1), 1)

    def test_charts_have_what_the_data_say(self):
        page = self.browser.open(self.small)
        classes = page.js("JSON.parse(document.getElementById('data').textContent).classes.length")
        self.assertGreater(classes, 3)
        self.assertEqual(page.js("document.querySelectorAll('#heat-map rect').length"), classes * (classes - 1))
        self.assertEqual(page.js("document.querySelectorAll('#dendrogram .link').length"), classes - 1)
        self.picture(page, "small")

    def test_narrow_and_dark(self):
        page = self.browser.open(self.small, width=390, height=800)
        self.assertLessEqual(page.js("document.documentElement.scrollWidth"), 390)
        self.picture(page, "narrow")
        page.resize(1280, 900)
        light = page.js("getComputedStyle(document.body).backgroundColor")
        page.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
        self.assertNotEqual(page.js("getComputedStyle(document.body).backgroundColor"), light)
        self.assertEqual(page.js("getComputedStyle(document.querySelector('.body .row')).transitionDuration"), "0s")
        self.picture(page, "dark")

    def test_names_are_text_and_nothing_else(self):
        page = self.browser.open(self.hostile)
        page.click("#operator-grid .body .row:nth-child(4)")
        page.click("#node-5")
        page.click("#next-fork")
        for row in range(1, 8):
            page.click(f"#operator-grid .body .row:nth-child({row})")
        self.picture(page, "hostile")
        self.assertIsNone(page.js("window.pwned ?? null"))
        self.assertIn("<script>window.pwned=1</script>", page.text("h1"))
        self.assertEqual(page.js("document.scripts.length"), 2)
        self.assertEqual(page.js("document.querySelectorAll('img, iframe, object, embed, link, [onload], [onerror], base').length"), 0)
        self.assertEqual(page.js("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))"), ["#operators"])
        # What slipped through would still not run: the page's policy names its own script alone.
        page.js("{ const s = document.createElement('script'); s.textContent = 'window.pwned = 6'; document.body.append(s); }")
        self.assertIsNone(page.js("window.pwned ?? null"))
        complaints = page.complaints()
        self.assertEqual(len(complaints), 1, complaints)
        self.assertIn("Content Security Policy", complaints[0][1])


if __name__ == "__main__":
    if browser.program() is None:
        print("skipped: no Chromium")
        sys.exit(77)
    unittest.main(verbosity=2)
