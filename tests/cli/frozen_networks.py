"""Two transformers as ONNX files, in the form and with the names of the libraries that examples/jobs/networks.py exports
them from, written node by node, so that no exporter's version is part of them. Weights: frozen_files.py.
"""
import struct

import frozen_files as files
import onnx_by_hand as onnx


class Network:
    """Nodes in order; parameters in a file beside the model."""

    def __init__(self):
        self.nodes, self.tensors, self.shapes, self.made = [], [], {}, 0

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op}_{self.made}_{o}" for o in range(outputs)]
        self.nodes.append(onnx.node(op, inputs, names, f"{op}_{self.made}", **attributes))
        self.made += 1
        return names[0] if outputs == 1 else names

    def parameter(self, name, *dims):
        self.shapes[name] = list(dims)
        return name

    def constant(self, tensor, *values):
        """tensor: onnx.ints, or onnx.whole or a scalar of another type with one value."""
        name = f"constant_{self.made}"
        self.made += 1
        self.tensors.append(tensor(name, *values))
        return name

    def number(self, value):
        return self.constant(lambda name: onnx.floats(name, [], value))

    def reshape(self, x, *dims):
        return self.node("Reshape", x, self.constant(onnx.ints, *dims))

    def norm(self, name, x, c, epsilon):
        return self.node("LayerNormalization", x, self.parameter(f"{name}.weight", c), self.parameter(f"{name}.bias", c),
                         epsilon=epsilon)

    def linear(self, weight, bias, x, ins, outs):
        turned = self.node("Transpose", self.parameter(weight, outs, ins), perm=[1, 0])
        return self.node("Add", self.node("MatMul", x, turned), self.parameter(bias, outs))

    def attention(self, query, key, value, heads, c, mask=None, dropout=None):
        size = c // heads
        query, key, value = (self.reshape(x, 0, -1, heads, size) for x in (query, key, value))
        scores = self.node("MatMul", self.node("Transpose", query, perm=[0, 2, 1, 3]),
                           self.node("Transpose", key, perm=[0, 2, 3, 1]))
        scores = self.node("Mul", scores, self.number(size ** -0.5))
        chances = self.node("Softmax", self.node("Add", scores, mask) if mask else scores, axis=-1)
        if dropout:
            chances = self.dropout(chances, dropout)
        seen = self.node("MatMul", chances, self.node("Transpose", value, perm=[0, 2, 1, 3]))
        return self.reshape(self.node("Transpose", seen, perm=[0, 2, 1, 3]), 0, -1, c)

    def dropout(self, x, ratio):
        training = self.constant(lambda name: onnx.tensor(name, onnx.BOOL, [], b"\1"))
        return self.node("Dropout", x, self.number(ratio), training)

    def write(self, path, inputs, output):
        with open(f"{path}.weights", "wb") as f:
            for name, dims in self.shapes.items():
                at = f.tell()
                f.write(files.values(name, dims))
                location = f"{path}.weights".rsplit("/", 1)[-1]
                self.tensors.append(onnx.elsewhere(name, onnx.FLOAT, dims, location=location, offset=at,
                                                   length=f.tell() - at))
        self.nodes.append(onnx.node("Identity", [output], ["scores"], "scores"))
        scores = onnx.value("scores", ["batch", self.shapes[[*self.shapes][-1]][0]])
        with open(path, "wb") as f:
            f.write(onnx.model(onnx.graph(self.nodes, inputs, [scores], self.tensors), version=20))
        return path


def write_vit(path, classes, layers=12, heads=6, c=384):
    """torchvision's VisionTransformer, patches of 16 by 16 of 224 by 224."""
    n = Network()
    x = n.node("Conv", "input", n.parameter("conv_proj.weight", c, 3, 16, 16), n.parameter("conv_proj.bias", c),
               strides=[16, 16], kernel_shape=[16, 16])
    x = n.node("Transpose", n.reshape(x, 0, c, -1), perm=[0, 2, 1])
    batch = n.node("Gather", n.node("Shape", "input"), n.constant(onnx.ints, 0), axis=0)
    token = n.node("Expand", n.parameter("class_token", 1, 1, c),
                   n.node("Concat", batch, n.constant(onnx.ints, 1, c), axis=0))
    x = n.node("Add", n.node("Concat", token, x, axis=1), n.parameter("encoder.pos_embedding", 1, 197, c))
    for layer in range(layers):
        at = f"encoder.layers.encoder_layer_{layer}."
        y = n.norm(f"{at}ln_1", x, c, 1e-6)
        y = n.linear(f"{at}self_attention.in_proj_weight", f"{at}self_attention.in_proj_bias", y, c, 3 * c)
        y = n.attention(*n.node("Split", y, outputs=3, axis=2, num_outputs=3), heads, c)
        y = n.linear(f"{at}self_attention.out_proj.weight", f"{at}self_attention.out_proj.bias", y, c, c)
        x = n.node("Add", x, y)
        y = n.norm(f"{at}ln_2", x, c, 1e-6)
        y = n.node("Gelu", n.linear(f"{at}mlp.0.weight", f"{at}mlp.0.bias", y, c, 4 * c))
        x = n.node("Add", x, n.linear(f"{at}mlp.3.weight", f"{at}mlp.3.bias", y, 4 * c, c))
    x = n.node("Gather", n.norm("encoder.ln", x, c, 1e-6), n.constant(onnx.whole, 0), axis=1)
    x = n.node("Gemm", x, n.parameter("heads.head.weight", classes, c), n.parameter("heads.head.bias", classes), transB=1)
    return n.write(path, [onnx.value("input", ["batch", 3, 224, 224])], x)


def write_bert(path, tokens, layers=12, heads=12, c=768, vocabulary=30522):
    """transformers' BertForSequenceClassification with two classes, in training."""
    n, epsilon, rate = Network(), 1e-12, 0.1
    at = "inner.bert.embeddings."
    x = n.node("Gather", n.parameter(f"{at}word_embeddings.weight", vocabulary, c), "input_ids")
    kinds = n.node("Gather", n.parameter(f"{at}token_type_embeddings.weight", 2, c), n.constant(onnx.ints, *[0] * tokens))
    places = n.node("Gather", n.parameter(f"{at}position_embeddings.weight", 512, c), n.constant(onnx.ints, *range(tokens)))
    x = n.node("Add", n.node("Add", x, kinds), places)
    x = n.dropout(n.norm(f"{at}LayerNorm", x, c, epsilon), rate)
    mask = n.node("Cast", n.node("Unsqueeze", "attention_mask", n.constant(onnx.ints, 1, 2)), to=onnx.FLOAT)
    least = struct.unpack("<f", b"\xff\xff\x7f\xff")[0]
    mask = n.node("Mul", n.node("Sub", n.number(1.0), mask), n.number(least))
    for layer in range(layers):
        at = f"inner.bert.encoder.layer.{layer}."
        three = [n.linear(f"{at}attention.self.{part}.weight", f"{at}attention.self.{part}.bias", x, c, c)
                 for part in ("query", "key", "value")]
        y = n.attention(*three, heads, c, mask, rate)
        y = n.dropout(n.linear(f"{at}attention.output.dense.weight", f"{at}attention.output.dense.bias", y, c, c), rate)
        x = n.norm(f"{at}attention.output.LayerNorm", n.node("Add", y, x), c, epsilon)
        y = n.node("Gelu", n.linear(f"{at}intermediate.dense.weight", f"{at}intermediate.dense.bias", x, c, 4 * c))
        y = n.dropout(n.linear(f"{at}output.dense.weight", f"{at}output.dense.bias", y, 4 * c, c), rate)
        x = n.norm(f"{at}output.LayerNorm", n.node("Add", y, x), c, epsilon)
    x = n.node("Gather", x, n.constant(onnx.whole, 0), axis=1)
    x = n.node("Gemm", x, n.parameter("inner.bert.pooler.dense.weight", c, c),
               n.parameter("inner.bert.pooler.dense.bias", c), transB=1)
    x = n.dropout(n.node("Tanh", x), rate)
    x = n.node("Gemm", x, n.parameter("inner.classifier.weight", 2, c), n.parameter("inner.classifier.bias", 2), transB=1)
    inputs = [onnx.value(name, ["batch", tokens], onnx.INT64) for name in ("input_ids", "attention_mask")]
    return n.write(path, inputs, x)
