#!/usr/bin/env python3
"""isobit info of ONNX models: what it says, and what it refuses."""
import os

import onnx_by_hand
from isobit_cli import Case, main, shared_data
from onnx_by_hand import BOOL, floats, graph, tensor, value
from onnx_by_hand import node as any_node


def node(op, inputs, outputs, name=""):
    return any_node(op, inputs, outputs, name)


def model(nodes):
    return onnx_by_hand.model(graph(nodes, [value("x", ["batch", 3])], [value("y", ["batch", 3])],
                                    [floats("w", [3], 0, 0, 0)]), version=13)


class Info(Case):
    def test_a_model_says_what_it_takes_and_holds(self):
        path = self.write("m.onnx", model([node("Add", ["x", "w"], ["a"]), node("Relu", ["a"], ["y"])]))
        told = self.isobit_json("info", path)
        self.assertEqual(told["inputs"], [{"name": "x", "dtype": "float32", "shape": ["batch", 3]}])
        self.assertEqual(told["outputs"], [{"name": "y", "dtype": "float32", "shape": ["batch", 3]}])
        self.assertEqual(told["operators"], {"Add": 1, "Relu": 1})
        self.assertEqual((told["parameters"], told["tensors"], told["tensor_bytes"]), (3, 1, 12))
        self.assertEqual((told["opsets"]["ai.onnx"], told["producer"]), (13, "by hand"))
        self.assertEqual((told["supported"], told["unsupported"]), (True, []))
        text = self.isobit("info", path).out
        for line in ("input         x float32 [batch, 3]", "operator      Relu 1", "parameters    3 numbers"):
            self.assertIn(line, text)

    def test_everything_that_is_unsupported_is_listed(self):
        path = self.write("m.onnx", model([node("Strange", ["x"], ["a"], "first"), node("Odd", ["a"], ["y"], "second")]))
        told = self.isobit_json("info", path)
        self.assertFalse(told["supported"])
        self.assertEqual([(u["node"], u["operator"], u["opset"]) for u in told["unsupported"]],
                         [("first", "Strange", 13), ("second", "Odd", 13)])
        self.assertIn("unsupported   node 'first' (Strange, opset 13): isobit does not have this operator",
                      self.isobit("info", path).out)

    def test_an_error_of_the_import_is_told_with_its_node(self):
        path = self.write("m.onnx", model([node("Relu", ["absent"], ["y"], "n")]))
        told = self.isobit_json("info", path)
        self.assertIn("node 'n' (Relu, opset 13): input 0: 'absent' is no input", told["unsupported"][0]["reason"])

    def test_a_dropout_that_drops_is_supported_in_training_alone(self):
        drops = onnx_by_hand.model(graph([node("Dropout", ["x", "", "mode"], ["y"], "n")], [value("x", ["batch", 3])],
                                         [value("y", ["batch", 3])], [tensor("mode", BOOL, [], b"\x01")]), version=13)
        path = self.write("m.onnx", drops)
        told = self.isobit_json("info", path)
        self.assertEqual((told["supported"], told["supported_in_training"]), (False, True))
        self.assertIn("node 'n' (Dropout, opset 13): training_mode is true", told["unsupported"][0]["reason"])
        self.assertIn("supported     in training: ", self.isobit("info", path).out)

    def test_files_that_are_no_models_are_refused(self):
        good = model([node("Relu", ["x"], ["y"])])
        self.fails("info", self.write("empty.onnx", b""), code=3, says=["empty.onnx: is empty"])
        self.fails("info", self.write("cut.onnx", good[:30]), code=3, says=["cut.onnx: "])
        self.fails("info", self.write("text.onnx", "no model at all"), code=3, says=["text.onnx: "])
        self.fails("info", self.path("absent.onnx"), code=3, says=["absent.onnx"])
        self.fails("info", self.write("m.onnx", good), "--max-memory", "20", code=3, says=["m.onnx"])

    def test_models_of_others_are_read(self):
        folder = os.path.join(shared_data("models"))
        for name in sorted(os.listdir(folder)):
            if name.endswith(".onnx"):
                told = self.isobit_json("info", os.path.join(folder, name))
                self.assertGreater(told["nodes"], 0, name)


if __name__ == "__main__":
    main()
