"""TensorFlow, eager, on the CPU: its own kernels, Eigen's and oneDNN's."""
import os

import numpy

ABOUT = "TensorFlow, eager"
PACKAGES = {"tensorflow": "tensorflow", "onnx": "onnx"}
TAP = "the same operators; their results are looked at"
SETTINGS = ["", "native", "avx2"]  # native: without oneDNN; avx2: oneDNN no further than AVX2
DEFAULTS = ["", "native"]


def prepare_environment(setting, threads):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0" if setting == "native" else "1"
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if setting == "avx2":
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"


class Engine:
    def __init__(self, path, setting, threads, inputs):
        import tensorflow
        import onnx_graph
        import tensorflow_operators
        self.tf = tensorflow
        tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
        tensorflow.config.threading.set_inter_op_parallelism_threads(1)
        self.compute = tensorflow_operators.table(tensorflow, tensorflow.convert_to_tensor)
        self.model = onnx_graph.Model(path, self)

    def namespace_of(self, values):
        return numpy

    def host(self, value):
        return value.numpy() if isinstance(value, self.tf.Tensor) else numpy.asarray(value)

    movable = host

    def run(self, inputs, record=None):
        return {k: self.host(v) for k, v in self.model.run(inputs, record).items()}

    def run_tapped(self, inputs, recorder):
        outputs = set(self.model.graph.outputs)
        return self.run(inputs, lambda name, op, value: recorder(name, op, self.host(value), output=name in outputs))

    def versions(self):
        return {"tensorflow": self.tf.__version__, "onednn": os.environ["TF_ENABLE_ONEDNN_OPTS"]}
