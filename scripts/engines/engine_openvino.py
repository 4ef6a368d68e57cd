"""OpenVINO on the CPU, in float32. Settings: caps on the instruction set of its oneDNN."""
import os

ABOUT = "OpenVINO, CPU, float32"
PACKAGES = {"openvino": "openvino", "numpy": "numpy"}
TAP = "a compilation of its own in which every value is an output"
SETTINGS = ["", "avx2"]
DEFAULTS = [""]


def prepare_environment(setting, threads):
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if setting == "avx2":
        os.environ["ONEDNN_MAX_CPU_ISA"] = os.environ["OV_CPU_MAX_ISA"] = "AVX2"


class Engine:
    def __init__(self, path, setting, threads, inputs):
        import openvino
        self.library, self.path, self.inputs = openvino, path, inputs
        self.core = openvino.Core()
        self.options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                        "PERFORMANCE_HINT": "LATENCY"}
        self.model = self.read()
        self.outputs = [self.name_of(o) for o in self.model.outputs]
        self.program = self.core.compile_model(self.model, "CPU", self.options)

    def read(self):
        model = self.core.read_model(self.path)
        model.reshape({name: list(value.shape) for name, value in self.inputs.items()})
        return model

    @staticmethod
    def name_of(output):
        return output.get_any_name()

    def run(self, inputs):
        results = self.program(inputs)
        return {name: results[place] for place, name in enumerate(self.outputs)}

    def run_tapped(self, inputs, recorder):
        self.program = self.model = None  # a model may be large: one at a time
        model = self.read()
        makers = {}
        for node in model.get_ordered_ops():
            if node.get_type_name() in ("Parameter", "Constant", "Result"):
                continue
            for output in node.outputs():
                for name in output.get_names():
                    makers[name] = node.get_type_name()
        model.add_outputs([name for name in makers if name not in self.outputs])
        results = self.core.compile_model(model, "CPU", self.options)(inputs)
        by_name = {name: results[port] for port in results for name in port.get_names()}
        for name, op in makers.items():
            if name in by_name:
                recorder(name, op, by_name[name], output=name in self.outputs)
        return {name: by_name[name] for name in self.outputs}

    def versions(self):
        return {"openvino": self.library.__version__,
                "capabilities": " ".join(self.core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"))}
