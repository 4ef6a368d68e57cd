"""ONNX Runtime on the CPU. Settings: how much it rewrites the graph."""

import os
import tempfile

from every_value import every_value

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
            outputs, makers, model = every_value(self.path, folder)
            session = self.made(model, LEVELS["disabled"])
        found = {}
        for name, value in zip(makers, session.run(list(makers), inputs)):
            recorder(name, makers[name].op_type, value, output=name in outputs)
            if name in outputs:
                found[name] = value
        return found

    def versions(self):
        return {"onnxruntime": self.library.__version__, "provider": self.provider}
