"""Takes training steps of a network in PyTorch, as many as each line of the standard input says, and prints a line of JSON
with their seconds, the most memory that was taken so far and how much of it the libraries took alone.

usage: torch_steps.py NAME FOLDER WAY THREADS    WAY: eager or compiled, and -channels-last for that memory format
"""
import json
import os
import resource
import sys
import time

import networks
import numpy
import torch
import torchvision
from torch import nn
from torch.nn import functional as F


class SmallCnn(nn.Module):
    """digits-cnn and mnist-cnn."""

    def __init__(self, pools, features):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.fc1, self.fc2, self.pools = nn.Linear(features, 128), nn.Linear(128, 10), pools

    def forward(self, x):
        x = F.relu(self.conv1(x))
        if self.pools > 1:
            x = F.max_pool2d(x, 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Residual(nn.Module):
    """A block of two convolutions, of resnet; where it halves the image, the shortcut is a convolution of one tap."""

    def __init__(self, into, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(into, channels, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(nn.Conv2d(into, channels, 1, stride, bias=False),
                                                                        nn.BatchNorm2d(channels))

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.shortcut(x))


def resnet(width, blocks, classes):
    """Of He et al. 2016, section 4.2: three stages of so many blocks."""
    layers, channels = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()], width
    for stage in range(3):
        for block in range(blocks):
            into, channels = channels, width << stage
            layers.append(Residual(into, channels, 2 if stage > 0 and block == 0 else 1))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Block(nn.Module):
    def __init__(self, channels, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.ln1, self.ln2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv, self.proj = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.fc, self.out = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x):
        q, k, v = (p.view(*p.shape[:2], self.heads, -1).transpose(1, 2) for p in self.qkv(self.ln1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout)
        x = x + F.dropout(self.proj(y.transpose(1, 2).flatten(2)), self.dropout)
        return x + F.dropout(self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh")), self.dropout)


class Gpt(nn.Module):
    """Of Radford et al. 2019, the output's weights tied to the embedding."""

    def __init__(self, model, context, words):
        super().__init__()
        self.words = nn.Embedding(words, model["channels"])
        self.places = nn.Embedding(model.get("positions", context), model["channels"])
        self.dropout = model["dropout"]
        self.blocks = nn.ModuleList(Block(model["channels"], model["heads"], self.dropout) for _ in range(model["layers"]))
        self.ln = nn.LayerNorm(model["channels"])
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, tokens):
        x = F.dropout(self.words(tokens) + self.places.weight[:tokens.shape[1]], self.dropout)
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln(x), self.words.weight).flatten(0, 1)


def module_of(job, shape, classes):
    model = job["model"]
    kind = model.get("builder", job["job"]["name"])
    if kind in ("gpt", "gpt2"):
        return Gpt(model, shape[1], classes)
    if kind == "resnet":
        return resnet(model["width"], model["blocks"], classes)
    if kind in ("digits-cnn", "mnist-cnn"):
        return SmallCnn(1, 32 * 4 * 4) if kind == "digits-cnn" else SmallCnn(2, 32 * 7 * 7)
    if kind == "vit-s16":
        return torchvision.models.VisionTransformer(image_size=224, patch_size=16, num_layers=12, num_heads=6,
                                                    hidden_dim=384, mlp_dim=1536, num_classes=classes)
    if kind == "vgg11-bn":
        return torchvision.models.vgg11_bn(num_classes=classes, dropout=model["dropout"])
    module = getattr(torchvision.models, kind)(num_classes=classes)
    if model["form"] == "small":
        module.conv1, module.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    return module


def optimizer_of(job, module):
    o = job["optimizer"]
    matrices = [p for p in module.parameters() if p.dim() > 1]
    groups = [{"params": matrices, "weight_decay": o.get("weight_decay", 0.0)},
              {"params": [p for p in module.parameters() if p.dim() <= 1], "weight_decay": 0.0}]
    if o["name"] == "sgd":
        return torch.optim.SGD(groups, lr=o["lr"], momentum=o["momentum"], nesterov=o.get("nesterov", False), fused=True)
    return torch.optim.AdamW(groups, lr=o["lr"], betas=(o.get("beta1", 0.9), o.get("beta2", 0.999)), fused=True)


def most_memory():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    libraries = most_memory()
    name, folder, way, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    _, _, shape, classes = networks.network(name)
    job = networks.job_of(name, folder)
    module = module_of(job, shape, classes).train()
    last = "channels-last" in way
    if last:
        module = module.to(memory_format=torch.channels_last)
    optimizer = optimizer_of(job, module)
    forward = torch.compile(module) if way.startswith("compiled") else module
    inputs, labels = (torch.from_numpy(numpy.load(os.path.join(folder, f))) for f in ("inputs.npy", "labels.npy"))
    smoothing, clip = job["model"].get("label_smoothing", 0.0), job["optimizer"].get("clip_norm", 0.0)

    def step():
        chosen = torch.randint(0, len(inputs), shape[:1])
        x, y = inputs[chosen], labels[chosen].flatten()
        if x.dtype == torch.uint8:
            x = x.float() / 255
            x = x.to(memory_format=torch.channels_last) if last else x
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(forward(x), y, label_smoothing=smoothing).backward()
        if clip > 0:
            nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()

    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - begin)
        print(json.dumps({"seconds": seconds, "bytes": most_memory(), "libraries": libraries}), flush=True)


if __name__ == "__main__":
    main()
