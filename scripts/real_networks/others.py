"""Networks of other libraries than PyTorch, which bring an exporter of their own.

OTHERS maps a name to (exporter, function): the function writes the ONNX file at a path and gives {input: NumPy array}.
"""
import os

SEED = 1


def keras_cnn(path, batch):
    """A small convolutional network by Keras on TensorFlow: images are NHWC, which the exporter transposes."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import numpy
    keras.utils.set_random_seed(SEED)
    layers = keras.layers
    model = keras.Sequential([
        keras.Input((32, 32, 3), name="image"),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.SeparableConv2D(32, 3, strides=2, padding="same", activation="swish"),
        layers.LayerNormalization(),
        layers.GlobalAveragePooling2D(),
        layers.Dense(64, activation="elu"),
        layers.Dense(10, activation="softmax")])
    images = numpy.random.default_rng(SEED).standard_normal((batch, 32, 32, 3), dtype=numpy.float32)
    model(images)
    model.export(path, format="onnx", verbose=False)
    return {"image": images}


def digits_pipeline(classifier):
    """A pipeline of a scaler and a classifier, fitted on scikit-learn's own copy of the handwritten digits."""
    from sklearn.datasets import load_digits
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    images, labels = load_digits(return_X_y=True)
    return make_pipeline(StandardScaler(), classifier).fit(images[:1400], labels[:1400]), images[1400:]


def write_pipeline(path, batch, classifier):
    import numpy
    from skl2onnx import to_onnx
    pipeline, images = digits_pipeline(classifier)
    images = images.astype(numpy.float32)
    model = to_onnx(pipeline, images[:1], options={"zipmap": False})
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return {"X": images[:100 * batch]}


def sklearn_logistic(path, batch):
    from sklearn.linear_model import LogisticRegression
    return write_pipeline(path, batch, LogisticRegression(max_iter=500, random_state=SEED))


def sklearn_forest(path, batch):
    from sklearn.ensemble import RandomForestClassifier
    return write_pipeline(path, batch, RandomForestClassifier(n_estimators=50, random_state=SEED))


OTHERS = {
    "keras_cnn": ("keras", keras_cnn),
    "sklearn_logistic": ("skl2onnx", sklearn_logistic),
    "sklearn_forest": ("skl2onnx", sklearn_forest),
}
