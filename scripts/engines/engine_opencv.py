"""OpenCV's module dnn, which reads ONNX itself.

OpenCV 5 has two: a new one, which gives no values but outputs and has no switch for fusion, and the classic one of OpenCV 4.
"""
import tempfile

from every_value import every_value

ABOUT = "OpenCV dnn, CPU"
PACKAGES = {"cv2": "opencv-python-headless", "onnx": "onnx"}
TAP = "a network of its own: without fusion, or, with OpenCV 5, one in which every value is an output"
SETTINGS = ["", "unfused"]
DEFAULTS = [""]


def prepare_environment(setting, threads):
    pass


class Engine:
    def __init__(self, path, setting, threads, inputs):
        import cv2
        import onnx
        self.cv, self.path, self.fuses = cv2, path, setting == ""
        cv2.setNumThreads(threads)
        self.outputs = [o.name for o in onnx.load(path, load_external_data=False).graph.output]
        self.network = self.made(path, self.fuses)
        self.kind = "classic" if "__NetInputLayer__" in self.network.getLayerTypes() else "new"

    def made(self, path, fuses):
        cv = self.cv
        # Only the classic one can be told not to fuse.
        classic = {} if fuses or not hasattr(cv.dnn, "ENGINE_CLASSIC") else {"engine": cv.dnn.ENGINE_CLASSIC}
        network = cv.dnn.readNetFromONNX(path, **classic)
        network.setPreferableBackend(cv.dnn.DNN_BACKEND_OPENCV)
        network.setPreferableTarget(cv.dnn.DNN_TARGET_CPU)
        if not fuses:
            network.enableFusion(False)
        return network

    def forward(self, network, inputs, names):
        for name, value in inputs.items():
            network.setInput(value, name)
        return network.forward(names)

    def run(self, inputs):
        names = self.network.getUnconnectedOutLayersNames()
        if len(names) != len(self.outputs):
            raise RuntimeError(f"the model has {len(self.outputs)} outputs, OpenCV finds {len(names)}")
        found = self.forward(self.network, inputs, names)
        by_name = dict(zip(names, found))
        return {o: by_name.get(o, found[place]) for place, o in enumerate(self.outputs)}

    def run_tapped(self, inputs, recorder):
        with tempfile.TemporaryDirectory() as folder:
            outputs, makers, opened = every_value(self.path, folder, typed=True)
            if self.kind == "classic":
                network = self.made(self.path, False)
                names = self.layers(makers, set(network.getLayerNames()))
            else:
                if isinstance(opened, bytes):
                    raise RuntimeError("the model has its weights in other files, and OpenCV takes no bytes of such a model")
                network = self.made(opened, True)
                names = {name: name for name in makers if name in set(network.getUnconnectedOutLayersNames())}
        if not set(names) - set(outputs):
            raise RuntimeError("OpenCV has no name for any value inside the model")
        found = dict(zip(names, self.forward(network, inputs, list(names.values()))))
        for name, value in found.items():
            recorder(name, makers[name].op_type, value, output=name in outputs)
        return {o: found[o] for o in outputs}

    @staticmethod
    def layers(makers, known):
        """The layer that makes each value, as far as there is one: named after the node, or after its first output."""
        found = {}
        for name, node in makers.items():
            for layer in (name, f"onnx_node!{node.name}", f"onnx_node_output_0!{name}"):
                if layer in known and name == node.output[0]:
                    found[name] = layer
                    break
        return found

    def versions(self):
        return {"opencv": self.cv.__version__, "dnn": self.kind}
