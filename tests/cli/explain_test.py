#!/usr/bin/env python3
"""isobit explain: a report of labs and of the published study."""
import json
import os
import re
import shutil
import struct
import subprocess

import onnx_by_hand as onnx
from isobit_cli import DIGITS, SOURCE, Case, main, shared_data


class Explain(Case):
    def lab(self, *what):
        path = self.path(f"{'-'.join(what)}.lab")
        subprocess.run([os.environ["ISOBIT_EXAMPLE_LAB"], *what, path], check=True)
        return path

    def test_a_report_is_one_file_that_asks_for_nothing(self):
        lab = self.lab("network", "60")
        told = self.isobit("explain", lab, "--out", "report.html", code=1)
        self.assertIn("12 platforms ran", told.out)
        self.assertTrue(told.out.endswith("wrote report.html\n"))
        with open(self.path("report.html"), encoding="utf-8") as f:
            page = f.read()
        self.assertEqual(set(re.findall(r"https?://[^\s'\"<]*", page)), {"http://www.w3.org/2000/svg"})
        self.assertNotRegex(page, r"<(link|iframe|object|embed|base)\b|@import|url\(")
        self.assertIn("default-src 'none'", page)
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
        self.assertEqual(data, self.isobit_json("explain", lab, code=1))

    def test_json_has_what_the_page_says(self):
        told = self.isobit_json("explain", self.lab("network", "60"), code=1)
        self.assertEqual(len(told["platforms"]), 13)
        first = told["values"][told["first_introduced"]]
        self.assertEqual((first["op"], first["origin"]), ("Conv", "introduced"))
        self.assertTrue(all(v["classes"] == 1 for v in told["values"][:told["first_introduced"]]))
        self.assertEqual(len(told["graph"]["names"]), 60)
        if shutil.which("dot"):
            self.assertEqual(len(told["graph"]["centres"]), 2 * 60)
        self.assertIsNone(told["causes"])

    def test_nothing_that_is_read_is_replaced(self):
        lab = self.lab("network", "20")
        with open(lab, "rb") as f:
            before = f.read()
        os.link(lab, self.path("other.name"))
        for option in ("--out", "--model-explorer"):
            for name in (lab, "other.name"):
                self.fails("explain", lab, option, name, code=2, says=[option, "which is read"])
        self.fails("explain", lab, "--out", "r.html", "--model-explorer", "./r.html", code=2, says=["both are"])
        with open(lab, "rb") as f:
            self.assertEqual(f.read(), before)
        self.fails("lab", "export", lab, "--out", "send.tar.zst", code=2, says=["archive", "expected another name"])
        self.fails("measure", "m.onnx", "--out", "m.tgz", code=2, says=["archive", "expected another name"])

    def with_weights(self):
        """A model with weights beside it, and its lab."""
        self.write("w.bin", bytes(range(1, 17)))
        made = onnx.model(onnx.graph([onnx.node("Mul", ["x", "f"], ["y"], "product")], [onnx.value("x", [4])],
                                     [onnx.value("y", [4])], [onnx.elsewhere("f", onnx.FLOAT, [4], location="w.bin")]))
        self.write("m.onnx", made)
        self.write("x.npy", onnx.npy("<f4", [4], struct.pack("<4f", 1, 2, 3, 4)))
        return self.isobit("measure", "m.onnx", "--input", "x.npy", "--platforms", "ordered@portable/1t,ordered@reference/1t",
                           "--out", "m.lab")

    def test_no_file_that_belongs_to_what_is_read_is_replaced(self):
        self.with_weights()
        model = ["--model", "m.onnx", "--input", "x.npy"]
        names = ["m.onnx", "x.npy", "w.bin", "m.lab"]
        before = [self.contents(name) for name in names]
        for option in ("--out", "--model-explorer"):
            for name in [*names, "./w.bin", "m.lab-journal", "m.lab-wal"]:
                self.fails("explain", "m.lab", *model, option, name, code=2, says=[option, "which is read"])
        for name in names[:3]:
            self.fails("measure", "m.onnx", "--input", "x.npy", "--out", name, code=3, says=[name, "lab"])
            self.fails("lab", "export", "m.lab", "--out", name, code=2, says=[name])
            self.fails("lab", "merge", "--into", name, "m.lab", code=3, says=[name, "lab"])
        for name in ("m.lab-journal", "m.lab-wal"):
            for command in (["measure", "m.onnx", "--out", name], ["lab", "export", "m.lab", "--out", name],
                            ["lab", "merge", "--into", name, "m.lab"]):
                self.fails(*command, code=2, says=[name, "would be taken for a part of m.lab"])
        self.assertEqual([self.contents(name) for name in names], before)
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(names))
        self.isobit("explain", "m.lab", *model, "--out", "report.html")

    def test_no_file_of_a_job_and_no_record_of_a_study_is_replaced(self):
        self.write("d.npy", "data")
        with open(DIGITS, encoding="utf-8") as f:
            job = self.write("job.toml", f.read())
        lab = self.lab("network", "20")
        for settings in (["--set", "model.weights=d.npy"], ["--set", "data.dataset=npy", "--set", "data.path=d.npy"],
                         ["--set", "data.dataset=npy", "--set", 'data.inputs={ a = "d.npy" }']):
            self.fails("explain", lab, "--model", job, *settings, "--out", "d.npy", code=2, says=["--out", "which is read"])
        self.assertEqual(self.contents("d.npy"), b"data")
        self.write("study/place/cpu/record.json", "{}")
        self.fails("explain", "study", "--out", "study/place/cpu/record.json", code=2, says=["--out", "which is read"])
        self.assertEqual(self.contents("study/place/cpu/record.json"), b"{}")

    def contents(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def test_one_form_of_a_comparison(self):
        lab = self.lab("network", "20")
        told, compared = self.isobit_json("explain", lab, code=1), self.isobit_json("compare", lab, code=1)["subjects"][0]
        self.assertLessEqual({"subject", "verdict", "platforms", "remaining_precision", "churn", "beyond_rounding"}, set(told))
        for key in set(told) & set(compared) - {"classes"}:
            self.assertEqual(told[key], compared[key], key)
        self.assertEqual([dict(k, outputs=None) for k in told["classes"]], [dict(k, outputs=None) for k in compared["classes"]])

    def test_the_page_names_every_key_and_the_json_has_every_one_that_it_names(self):
        with open(os.path.join(SOURCE, "docs", "lab-report.md"), encoding="utf-8") as f:
            rows = re.findall(r"^\| (`.*?) \| (.*) \|$", f.read().split("## The JSON")[1], re.M)
        page = {key: text for keys, text in rows for key in re.findall(r"`(\w+)`", keys)}
        lab, model = self.measured("ordered@portable/1t", "ordered@portable/2t+winograd4", "ordered@portable/1t+direct")
        documents = [self.isobit_json("explain", lab, "--model", model, code=1),
                     self.isobit_json("explain", self.lab("network", "60"), code=1)]

        def keys_within(told):
            if isinstance(told, list):
                return set().union(*map(keys_within, told))
            if not isinstance(told, dict):
                return set()
            return set(told) | keys_within([v for k, v in told.items() if k != "fields"])
        for told in documents:
            self.assertEqual(set(told), set(page))
            for key, text in page.items():
                unnamed = {k for k in keys_within(told[key]) if not re.search(rf"\b{k}\b", text)}
                self.assertEqual(unnamed, set(), key)

    def test_node_data_for_model_explorer(self):
        lab = self.lab("network", "60")
        told = self.isobit_json("explain", lab, code=1)
        first = told["values"][told["first_introduced"]]
        found = {}
        for what in ("introduced", "precision", "classes"):
            self.isobit("explain", lab, "--model-explorer", f"{what}.json", "--node-data", what, code=1)
            with open(self.path(f"{what}.json"), encoding="utf-8") as f:
                data = json.load(f)
            # The fields of Model Explorer's GraphNodeData.
            self.assertEqual(list(data), ["name", "results", "gradient"])
            self.assertEqual([g["stop"] for g in data["gradient"]], [0, 1])
            self.assertTrue(all(list(r) == ["value"] for r in data["results"].values()))
            found[what] = {name: r["value"] for name, r in data["results"].items()}
        for value in told["values"]:
            self.assertEqual(found["classes"][value["name"]], value["classes"])
            if value["classes"] == 1:
                self.assertEqual(found["introduced"][value["name"]], 0)
                self.assertEqual(found["precision"][value["name"]], value["bits"])
        node = told["graph"]["names"][first["node"]][1]
        self.assertEqual(found["classes"].get(node or first["name"]), first["classes"])
        if "figures" in first:
            self.assertEqual(found["introduced"][first["name"]], first["figures"]["absolute"])
        told = self.isobit("explain", lab, "--model-explorer", "n.json", "--node-data", "colours", code=2)
        self.assertIn("--node-data: found 'colours'", told.err)
        self.isobit("explain", lab, "--node-data", "classes", code=2)

    def test_without_graphviz_the_drawing_alone_is_missing(self):
        told = self.isobit_json("explain", self.lab("network", "20"), code=1, env={"PATH": "/nowhere"})
        self.assertIn("apt-get install graphviz", told["graph"]["absent"])
        self.assertEqual(len(told["values"]), 20)

    def test_names_that_are_markup(self):
        self.isobit("explain", self.lab("hostile"), "--out", "report.html", code=1)
        with open(self.path("report.html"), encoding="utf-8") as f:
            page = f.read()
        self.assertNotIn("<script>window.pwned", page)
        self.assertNotIn("<img", page)
        self.assertEqual(page.count("</script"), 2)

    def test_several_labs_and_the_same_lab_twice(self):
        lab = self.lab("network", "20")
        shutil.copy(lab, self.path("copy.lab"))
        self.assertEqual(self.isobit_json("explain", lab, "copy.lab", code=1), self.isobit_json("explain", lab, code=1))

    def test_a_subject_is_asked_for_where_there_are_several(self):
        small, other = self.lab("network", "20"), self.lab("network", "30")
        self.fails("explain", small, other, code=2, says=("--subject", "1 is resnet-like-20.onnx", "2 is resnet-like-30.onnx"))
        self.fails("explain", small, other, "--subject", "3", code=2, says=("found 3", "1 to 2"))
        told = self.isobit_json("explain", small, other, "--subject", "2", code=1)
        self.assertEqual(told["subject"]["model"], "resnet-like-30.onnx")

    def test_what_is_refused(self):
        lab = self.lab("network", "20")
        self.fails("explain", "nothing.lab", code=3, says=("nothing.lab",))
        self.fails("explain", self.write("junk.lab", b"SQLite format 3\0 not really"), code=3, says=("junk.lab",))
        self.fails("explain", lab, "--seed", "3", code=2, says=("--model",))
        for option in (["--python", "python3"], ["--max-memory", "1G"]):
            self.fails("explain", lab, *option, code=2, says=(option[0], "--model"))
        self.fails("explain", lab, "--out", "one", "--model-explorer", "one", code=2, says=("--out and --model-explorer",))
        self.assertFalse(os.path.exists(self.path("one")))
        self.fails("explain", lab, "--model", self.write("m.onnx", b"other"), code=2, says=("SHA-256", "measured"))
        self.fails("explain", lab, "--out", self.dir, code=2, says=(self.dir,))

    def measured(self, *platforms):
        """(lab, model) of a small network whose convolutions have other bits by Winograd's algorithm."""
        weights = [((7 * i) % 23) / 19 - 0.5 for i in range(2 * 3 * 9)]
        deep = [((11 * i) % 29) / 17 - 0.8 for i in range(4 * 2 * 9)]
        made = onnx.model(onnx.graph(
            [onnx.node("Conv", ["x", "w"], ["a"], "first"), onnx.node("Relu", ["a"], ["b"], "rectified"),
             onnx.node("Conv", ["b", "v"], ["c"], "second"), onnx.node("Sigmoid", ["c"], ["y"], "last")],
            [onnx.value("x", [1, 3, 14, 14])],
            tensors=[onnx.floats("w", [2, 3, 3, 3], *weights), onnx.floats("v", [4, 2, 3, 3], *deep)]))
        model, lab = self.write("m.onnx", made), self.path("measured.lab")
        subprocess.run([os.environ["ISOBIT_EXAMPLE_LAB"], "measured", model, lab, *platforms], check=True)
        return lab, model

    def test_replays_tell_what_introduces_from_what_inherits(self):
        lab, model = self.measured("ordered@portable/1t", "ordered@portable/2t+winograd4")
        told = self.isobit_json("explain", lab, "--model", model, code=1)
        names = {v["name"]: i for i, v in enumerate(told["values"])}
        replayed = {r["value"]: r["origin"] for r in told["causes"]["replays"]}
        self.assertEqual({n: replayed[i] for n, i in names.items()},
                         {"a": "introduced", "b": "inherited", "c": "introduced", "y": "inherited"})
        self.assertEqual(told["values"][names["c"]]["origin"], "inherited")  # all that records can say
        tried = {(t["change"], t["agrees"]) for t in told["causes"]["trials"]}
        self.assertEqual(tried, {("convolution algorithm", True), ("threads", False)})
        self.assertTrue(all(t["problem"] == "" for t in told["causes"]["trials"]))
        self.assertRegex(told["causes"]["asked"], "^this convolution, (12|18|27) terms at channel .* 2 different results$")
        self.assertTrue(any(t["digest"] for t in told["causes"]["trees"]))
        diagnosed = [(d["replay"], d["kind"], d["also"]) for d in told["causes"]["diagnoses"]]
        self.assertEqual(diagnosed, [(told["causes"]["first"], "convolution_algorithm", [])])
        words = self.isobit("explain", lab, "--model", model, code=1).out
        self.assertIn("With winograd4 in place of its own as its convolution algorithm and nothing else changed", words)

    def test_a_training_names_the_operator_and_the_kind(self):
        here = [v["platform"] for v in self.vendors() if v.get("float32_digest")]
        if not {"onednn@sse41", "onednn@avx2"} <= set(here):
            self.skipTest("skipped: no oneDNN with both instruction sets")
        lab, changes = self.path("t.lab"), ["--set", "job.arithmetic=float32", "--set", "data.batch=8"]
        self.isobit("measure", DIGITS, "--steps", "2", "--platforms", "onednn@sse41/1t,onednn@avx2/1t", *changes, "--out",
                    lab, "--keep", "none")
        told = self.isobit_json("explain", lab, "--model", DIGITS, *changes, code=1)
        first = told["values"][told["first_introduced"]]
        self.assertEqual((first["step"], first["op"]), (1, "Conv"))
        replay = told["causes"]["replays"][told["causes"]["first"]]
        self.assertEqual((replay["reproduced"], replay["origin"]), (True, "introduced"))
        self.assertEqual([d["kind"] for d in told["causes"]["diagnoses"]], ["fused_multiply_add"])
        self.assertNotIn("introduced", [v.get("origin") for v in told["values"] if v.get("step") == 2])
        self.fails("explain", lab, "--model", DIGITS, "--set", "data.batch=9", code=2, says=["another job"])
        self.fails("explain", lab, "--model", DIGITS, "--seed", "1", code=2, says=["--seed"])
        self.fails("explain", lab, "--set", "data.batch=9", code=2, says=["--set", "--model"])

    def test_another_seed_is_noticed(self):
        lab, model = self.measured("ordered@portable/1t", "ordered@portable/1t+winograd4")
        told = self.isobit_json("explain", lab, "--model", model, "--seed", "5", code=1)
        first = told["causes"]["replays"][0]
        self.assertEqual((first["reproduced"], first["origin"]), (False, "unknown"))
        self.assertIn("not those that were measured", first["problem"])
        self.assertIn("Only what the labs hold the inputs of was replayed", " ".join(told["causes"]["words"]))

    def test_the_published_study(self):
        study = os.path.join(shared_data("deviations"), "equivalence_classes.tar.zst")
        told = self.isobit_json("explain", study, "--subject", "1", code=1)
        self.assertEqual(len(told["classes"]), 25)
        self.assertEqual(told["values"], [])
        self.assertIn("fewer than two platforms", " ".join(told["answer"]))


if __name__ == "__main__":
    main()
