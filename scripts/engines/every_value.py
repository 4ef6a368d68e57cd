"""A model in which every value is an output."""
import os
import shutil


def every_value(path, folder, typed=False):
    """The model's outputs, the node that makes each value, and a model of the same nodes and weights in which every
    value is an output: its path in `folder`, or its bytes where its weights are in other files. `typed`: for who wants
    outputs to have types; values whose type ONNX does not infer are left out then."""
    import onnx
    import onnx.shape_inference
    from onnx import external_data_helper
    graph = onnx.load(path, load_external_data=False).graph
    outputs = [o.name for o in graph.output]
    makers = {o: n for n in graph.node for o in n.output if o}
    # A message may be followed by another that adds to its lists, so that the weights need not be read for it.
    infos = {name: onnx.ValueInfoProto(name=name) for name in makers}
    if typed:
        infos = {v.name: v for v in onnx.shape_inference.infer_shapes(onnx.load(path)).graph.value_info}
    more = onnx.ModelProto(graph=onnx.GraphProto(
        output=[infos[name] for name in makers if name not in outputs and name in infos])).SerializeToString()
    if any(external_data_helper.uses_external_data(t) for t in graph.initializer):
        with open(path, "rb") as file:
            return outputs, makers, file.read() + more
    opened = os.path.join(folder, "model.onnx")
    shutil.copyfile(path, opened)
    with open(opened, "ab") as file:
        file.write(more)
    return outputs, makers, opened
