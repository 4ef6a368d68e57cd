"""An ONNX model run one operator after another with somebody else's kernels.

An engine that does not read ONNX brings a table of the operators that compute. Those that only move values, and those
over integers and truth values, are the same for all (moves.py): no bit of a result depends on who does them. Values
are NumPy arrays until an operator that computes asks the engine for its own kind of tensor.
"""
import os

import numpy
import onnx
from onnx import external_data_helper, numpy_helper

import moves
from protocol import Refused

GRAPH = onnx.AttributeProto.GRAPH


def attributes_of(node):
    found = {}
    for a in node.attribute:
        value = onnx.helper.get_attribute_value(a)
        if a.type == onnx.AttributeProto.TENSOR:
            value = numpy_helper.to_array(value)
        elif a.type == onnx.AttributeProto.STRING:
            value = value.decode()
        elif a.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
            value = list(value)
        found[a.name] = value
    return found


def array_of(tensor, folder):
    """In memory of its own, so that the file's bytes are not kept beside it; of tensors in other files one at a time."""
    if external_data_helper.uses_external_data(tensor):
        one = onnx.TensorProto()
        one.CopyFrom(tensor)
        external_data_helper.load_external_data_for_tensor(one, folder)
        tensor = one
    return numpy.array(numpy_helper.to_array(tensor))


class Node:
    def __init__(self, proto, opset, folder):
        self.op, self.name, self.opset = proto.op_type, proto.name, opset
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        self.attributes = attributes_of(proto)
        self.graphs = {k: Graph(v, opset, folder) for k, v in self.attributes.items()
                       if isinstance(v, onnx.GraphProto)}
        if proto.domain not in ("", "ai.onnx"):
            raise Refused(f"operator {proto.domain}.{proto.op_type} (node '{self.label()}') has no converter")

    def label(self):
        return self.name or (self.outputs[0] if self.outputs else self.op)

    def get(self, name, default=None):
        return self.attributes.get(name, default)


class Graph:
    def __init__(self, proto, opset, folder):
        self.constants = {t.name: array_of(t, folder) for t in proto.initializer}
        self.inputs = [i.name for i in proto.input if i.name not in self.constants]
        self.outputs = [o.name for o in proto.output]
        self.nodes = [Node(n, opset, folder) for n in proto.node]


class Model:
    """`engine`: compute: {operator: function(node, arrays) -> value or tuple of values}, namespace_of(values) for
    moves.py, host(value) -> NumPy array."""

    def __init__(self, path, engine):
        proto = onnx.load(path, load_external_data=False)
        if proto.functions:
            raise Refused("the model has functions of its own, which the converter does not take")
        opset = next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), 1)
        self.graph = Graph(proto.graph, opset, os.path.dirname(os.path.abspath(path)))
        self.engine = engine
        self.check(self.graph)

    def check(self, graph):
        """Before anything is run: everything that has no converter, by name."""
        lacks = sorted({n.op for n in self.all_nodes(graph)
                        if n.op not in self.engine.compute and n.op not in moves.MOVES and n.op not in CONTROL})
        if lacks:
            raise Refused(f"no converter for: {', '.join(lacks)}")

    def all_nodes(self, graph):
        for node in graph.nodes:
            yield node
            for inner in node.graphs.values():
                yield from self.all_nodes(inner)

    def run(self, inputs, record=None):
        """{output: value of the engine's own kind}; record(name, op, value) sees every value in order."""
        missing = [name for name in self.graph.inputs if name not in inputs]
        if missing:
            raise Refused(f"no input is given for '{missing[0]}'")
        return dict(zip(self.graph.outputs, self.run_graph(self.graph, dict(inputs), record)))

    def run_graph(self, graph, values, record):
        values.update(graph.constants)
        for node in graph.nodes:
            taken = [values[i] if i else None for i in node.inputs]
            if node.op in CONTROL:
                made = CONTROL[node.op](self, node, taken, values, record)
            else:
                made = self.apply(node, taken)
            for name, value in zip(node.outputs, made):
                if name:
                    values[name] = value
                    if record:
                        record(name, node.op, value)
        return [values[o] for o in graph.outputs]

    def apply(self, node, taken):
        compute = self.engine.compute.get(node.op)
        if compute is None or (node.op in moves.MOVES and moves.over_integers(taken)):
            if node.op in moves.INTEGERS_ONLY and not moves.over_integers(taken):
                raise Refused(f"node '{node.label()}': no converter for {node.op} of real numbers")
            made = moves.MOVES[node.op](self.engine.namespace_of(taken), node,
                                        [None if v is None else self.engine.movable(v) for v in taken])
        else:
            made = compute(node, taken)
        made = made if isinstance(made, (tuple, list)) else (made,)
        return [numpy.asarray(v) if isinstance(v, numpy.generic) else v for v in made]  # scalars stay arrays


def run_if(model, node, taken, values, record):
    branch = "then_branch" if bool(numpy.asarray(model.engine.host(taken[0])).reshape(-1)[0]) else "else_branch"
    return model.run_graph(node.graphs[branch], dict(values), record)


CONTROL = {"If": run_if}
