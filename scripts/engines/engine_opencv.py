"""OpenCV's module dnn, which reads ONNX itself."""

ABOUT = "OpenCV dnn, CPU"
PACKAGES = {"cv2": "opencv-python-headless", "onnx": "onnx"}
TAP = "a network of its own without fusion"
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
        graph = onnx.load(path).graph
        self.outputs = [o.name for o in graph.output]
        self.makers = {o: n.op_type for n in graph.node for o in n.output if o}
        self.network = self.made(self.fuses)

    def made(self, fuses):
        network = self.cv.dnn.readNetFromONNX(self.path)
        network.setPreferableBackend(self.cv.dnn.DNN_BACKEND_OPENCV)
        network.setPreferableTarget(self.cv.dnn.DNN_TARGET_CPU)
        network.enableFusion(fuses)
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
        network = self.made(False)
        names = [n for n in self.makers if n in set(network.getLayerNames()) or n in self.outputs]
        if not set(names) - set(self.outputs):
            return None
        found = dict(zip(names, self.forward(network, inputs, names)))
        for name, value in found.items():
            recorder(name, self.makers[name], value, output=name in self.outputs)
        return {o: found[o] for o in self.outputs}

    def versions(self):
        return {"opencv": self.cv.__version__}
