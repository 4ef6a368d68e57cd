#!/usr/bin/env python3
"""Writes the networks of vit-s16.toml and bert-base.toml as ONNX files that can be trained: with dropout, with the names
that their libraries give, any number of samples at a time.

usage: networks.py vit-s16 OUT.onnx [--classes N]
       networks.py bert-base OUT.onnx [FOLDER] [--classes N]    FOLDER: what save_pretrained() wrote; else random weights
"""
import argparse
import inspect

import torch


class Scores(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask):
        return self.inner(input_ids=input_ids, attention_mask=attention_mask).logits


def vit_s16(options):
    from torchvision.models import VisionTransformer
    torch.backends.mha.set_fastpath_enabled(False)
    module = VisionTransformer(image_size=224, patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536,
                               num_classes=options.classes or 1000)
    torch.nn.init.normal_(module.heads.head.weight, std=0.02)  # else zeros
    return module, {"input": torch.randn(2, 3, 224, 224)}


def bert_base(options):
    import transformers
    kind = transformers.BertForSequenceClassification
    more = {"num_labels": options.classes or 2, "attn_implementation": "eager"}
    if options.folder:
        module = kind.from_pretrained(options.folder, **more)
    else:
        module = kind(transformers.BertConfig(**more))
    ids = torch.randint(0, module.config.vocab_size, (2, 64))
    return Scores(module), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


NETWORKS = {"vit-s16": vit_s16, "bert-base": bert_base}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("out")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--classes", type=int)
    options = parser.parse_args()
    torch.manual_seed(1)
    module, inputs = NETWORKS[options.network](options)
    axes = {name: {0: "batch"} | ({1: "tokens"} if options.network == "bert-base" else {}) for name in inputs}
    more = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(module.train(), tuple(inputs.values()), options.out, input_names=list(inputs),
                      output_names=["scores"], dynamic_axes=axes | {"scores": {0: "batch"}}, opset_version=20,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, **more)


if __name__ == "__main__":
    main()
