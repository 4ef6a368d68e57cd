"""ONNX Runtime on the CPU. Settings: how much it rewrites the graph."""

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

    def made(self, model, level):
        options = self.library.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.execution_mode = self.library.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = getattr(self.library.GraphOptimizationLevel, level)
        options.log_severity_level = 4
        return self.library.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, inputs):
        names = [o.name for o in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, inputs)))

    def run_tapped(self, inputs, recorder):
        import onnx
        model = onnx.load(self.path)
        outputs = [o.name for o in model.graph.output]
        makers = {o: n.op_type for n in model.graph.node for o in n.output if o}
        for name in makers:
            if name not in outputs:
                model.graph.output.append(onnx.ValueInfoProto(name=name))
        session = self.made(model.SerializeToString(), LEVELS["disabled"])
        found = {}
        for name, value in zip(makers, session.run(list(makers), inputs)):
            recorder(name, makers[name], value, output=name in outputs)
            if name in outputs:
                found[name] = value
        return found

    def versions(self):
        return {"onnxruntime": self.library.__version__, "provider": self.session.get_providers()[0]}
