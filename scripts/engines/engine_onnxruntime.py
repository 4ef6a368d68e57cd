"""ONNX Runtime on the CPU. Settings: how much it rewrites the graph."""

import os
import shutil
import tempfile

ABOUT = "ONNX Runtime, CPU"
PACKAGES = {"onnxruntime": "onnxruntime", "onnx": "onnx"}
# Rewriting of a graph whose every value is an output would be another one, so operators are looked at in a session of
# their own that rewrites nothing.
TAP = "a session of its own without graph optimisation"
SETTINGS = ["all", "extended", "basic", "disabled"]
DEFAULTS = ["all", "basic", "disabled"]
LEVELS = {"all": "ORT_ENABLE_ALL", "extended": "ORT_ENABLE_EXTENDED", "basic": "ORT_ENABLE_BASIC",
          "disabled": "ORT_DISABLE_ALL"}


def prepare_environment(setting, threads):
    pass


class Engine:
    def __init__(self, path, setting, threads, inputs):
        import onnxruntime
        self.library, self.path, self.threads = onnxruntime, path, threads
        self.level = LEVELS[setting]
        self.session = self.made(path, self.level)
        self.provider = self.session.get_providers()[0]

    def made(self, model, level):
        options = self.library.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.execution_mode = self.library.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = getattr(self.library.GraphOptimizationLevel, level)
        options.log_severity_level = 4
        if isinstance(model, bytes):  # which do not say where the files beside them are
            options.add_session_config_entry("session.model_external_initializers_file_folder_path",
                                             os.path.dirname(os.path.abspath(self.path)))
        return self.library.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, inputs):
        names = [o.name for o in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, inputs)))

    def run_tapped(self, inputs, recorder):
        self.session = None  # a model may be large: one at a time
        with tempfile.TemporaryDirectory() as folder:
            outputs, makers, model = self.opened_up(folder)
            session = self.made(model, LEVELS["disabled"])
        found = {}
        for name, value in zip(makers, session.run(list(makers), inputs)):
            recorder(name, makers[name], value, output=name in outputs)
            if name in outputs:
                found[name] = value
        return found

    def opened_up(self, folder):
        """The model's outputs, which operator makes each value, and a model of the same nodes and weights in which
        every value is an output: its path, or its bytes where its weights are in other files."""
        import onnx
        from onnx import external_data_helper
        graph = onnx.load(self.path, load_external_data=False).graph
        outputs = [o.name for o in graph.output]
        makers = {o: n.op_type for n in graph.node for o in n.output if o}
        # A message may be followed by another that adds to its lists, so that the weights need not be read for it.
        more = onnx.ModelProto(graph=onnx.GraphProto(
            output=[onnx.ValueInfoProto(name=name) for name in makers if name not in outputs])).SerializeToString()
        if any(external_data_helper.uses_external_data(t) for t in graph.initializer):
            with open(self.path, "rb") as file:
                return outputs, makers, file.read() + more
        path = os.path.join(folder, "model.onnx")
        shutil.copyfile(self.path, path)
        with open(path, "ab") as file:
            file.write(more)
        return outputs, makers, path

    def versions(self):
        return {"onnxruntime": self.library.__version__, "provider": self.provider}
