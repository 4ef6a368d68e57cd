#!/usr/bin/env python3
"""Small networks as PyTorch exports them, differentiated by isobit and by PyTorch: at most 1e-9 apart.

usage: small_networks_test.py ONNX_GRADIENTS
The well-known networks: scripts/real_networks/gradients.py. Exit status 77 where there is no torch.
"""
import os
import sys
import tempfile
import unittest
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "scripts", "real_networks"), os.path.join(ROOT, "tests", "oracles")]
import exchange  # noqa: E402,F401  ends with 77 where there is no torch
import torch  # noqa: E402
import vjp  # noqa: E402

nn = torch.nn
PROGRAM = ""


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.pool = nn.MaxPool2d(2)
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.BatchNorm2d(8), nn.Hardswish(),
                                  nn.Conv2d(8, 8, 1))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))

    def forward(self, x):
        x = self.pool(self.stem(x))
        return self.head(x + self.body(x))


class Block(nn.Module):
    """Token embedding, causal attention with a mask, a feed-forward layer; tied to the embedding at the end."""

    def __init__(self, channels=16, heads=4, vocabulary=11, length=6):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, channels)
        self.places = nn.Parameter(torch.randn(length, channels))
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.feed = nn.Sequential(nn.Linear(channels, 4 * channels), nn.Tanh(), nn.Linear(4 * channels, channels))
        self.heads = heads
        self.register_buffer("mask", torch.ones(length, length).tril() == 0)

    def forward(self, ids):
        x = self.tokens(ids) + self.places
        batch, length, channels = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2)) / 2
        weights = scores.masked_fill(self.mask, -1e9).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, channels))
        x = x + self.feed(self.norm2(x))
        return x @ self.tokens.weight.T, x


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 7, batch_first=True, bidirectional=True)
        self.last = nn.Linear(14, 3)

    def forward(self, x):
        return self.last(self.lstm(x)[0])


class Gradients(unittest.TestCase):
    def check(self, module, inputs, outputs, parameters, wide=True):
        torch.manual_seed(1)
        with tempfile.TemporaryDirectory(prefix="isobit-gradients-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = vjp.check(module.eval(), inputs, outputs, "legacy", PROGRAM, folder, wide=wide)
        self.assertEqual(found["parameters"], parameters)
        self.assertLessEqual(found["output"], vjp.MOST, found)
        self.assertLessEqual(found["gradient"], vjp.MOST, found)

    def test_convolutions_norms_and_pools(self):
        torch.manual_seed(2)
        self.check(Residual(), {"x": torch.randn(2, 3, 8, 8)}, ["y"], 11)

    def test_a_float32_file_is_widened_exactly(self):
        torch.manual_seed(2)
        self.check(Residual(), {"x": torch.randn(2, 3, 8, 8)}, ["y"], 11, wide=False)

    def test_attention_with_a_tied_embedding_and_two_outputs(self):
        torch.manual_seed(3)
        self.check(Block(), {"ids": torch.randint(0, 11, (2, 6))}, ["scores", "last"], 14)

    def test_a_bidirectional_lstm(self):
        torch.manual_seed(4)
        self.check(Recurrent(), {"x": torch.randn(2, 4, 5)}, ["y"], 10)

    def test_shapes_that_follow_from_data_are_refused(self):
        class Chosen(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.randn(3))

            def forward(self, x):
                return (x * self.w)[x > 0]

        with self.assertRaises(vjp.Failure) as failure:
            self.check(Chosen(), {"x": torch.randn(2, 3)}, ["y"], 1)
        self.assertIn("shapes follow from data", str(failure.exception))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
