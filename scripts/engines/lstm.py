"""LSTM of ONNX as products, sums and activations of an engine. `e`: matmul, add, mul, sigmoid, tanh over its tensors;
np: functions that move (NumPy, or jax.numpy)."""
from protocol import Refused


def lstm(e, np, node, x):
    """x: the node's inputs as arrays. Gates lie in the order input, output, forget, cell."""
    if node.get("layout", 0) or node.get("input_forget", 0) or node.get("clip") or node.get("activations"):
        raise Refused(f"node '{node.label()}' (LSTM): layout, clip, input_forget and activations have no converter")
    x = x + [None] * (8 - len(x))
    if x[4] is not None or x[7] is not None:
        raise Refused(f"node '{node.label()}' (LSTM): sequence_lens and peepholes have no converter")
    hidden, directions = node.get("hidden_size"), {"forward": [0], "reverse": [1], "bidirectional": [0, 1]}[
        node.get("direction", "forward")]
    steps, batch = x[0].shape[0], x[0].shape[1]
    ys, last_h, last_c = [], [], []
    for d, backward in enumerate(directions):
        w, r = np.transpose(x[1][d]), np.transpose(x[2][d])
        zero = np.zeros((batch, hidden), x[0].dtype)
        h, c = (x[5][d] if x[5] is not None else zero), (x[6][d] if x[6] is not None else zero)
        made = [None] * steps
        for t in (range(steps)[::-1] if backward else range(steps)):
            gates = e.add(e.matmul(x[0][t], w), e.matmul(h, r))
            if x[3] is not None:
                gates = e.add(gates, e.add(x[3][d][:4 * hidden], x[3][d][4 * hidden:]))
            i, o, f, g = (gates[:, k * hidden:(k + 1) * hidden] for k in range(4))
            c = e.add(e.mul(e.sigmoid(f), c), e.mul(e.sigmoid(i), e.tanh(g)))
            h = e.mul(e.sigmoid(o), e.tanh(c))
            made[t] = h
        ys.append(np.stack(made))
        last_h.append(h)
        last_c.append(c)
    return np.stack(ys, 1), np.stack(last_h), np.stack(last_c)
