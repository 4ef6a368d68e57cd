"""The networks that are exported: built with random weights from a seed, nothing is downloaded.

NETWORKS maps a name to a function that makes a Network. Libraries are imported where they are needed, so that one
network can be made without what the others take.
"""
import collections
import contextlib
import struct

# module: takes the inputs by position and gives a tensor or a tuple; in evaluation mode.
# inputs: {name: tensor}, in order. outputs: their names.
# as_exported: a context in which the module computes with the numbers that exporters write in float32 though it is in
# float64 itself.
Network = collections.namedtuple("Network", "module inputs outputs as_exported", defaults=[contextlib.nullcontext])

SEED = 1


def torch_of(seed=SEED):
    import torch
    torch.manual_seed(seed)
    return torch


def image(batch, size):
    return torch_of(SEED + 1).randn(batch, 3, size, size)


def settle_statistics(module, size, forward=None):
    """Runs the network on random images in training mode, so that batch norms have running statistics of what they see:
    those that they begin with let the values of a deep random network grow or vanish."""
    torch = torch_of()
    norms = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    kept = [m.momentum for m in norms]
    for norm in norms:
        norm.momentum = None  # the mean of all batches
    module.train()
    with torch.no_grad():
        for _ in range(2):
            (forward or module)(torch.randn(4, 3, size, size))
    for norm, momentum in zip(norms, kept):
        norm.momentum = momentum
    return module.eval()


def module_of(inner, forward):
    """A module that computes forward(inner, *inputs), since exporters take modules."""
    import torch

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, *inputs):
            return forward(self.inner, *inputs)

    return Module().eval()


def vision(name, size=224, settle=True, **more):
    def build(batch):
        torch = torch_of()
        import torchvision
        module = getattr(torchvision.models, name)(weights=None, **more)
        module = settle_statistics(module, size) if settle else module.eval()
        if name in ("vit_b_16",):  # begins with a last layer of zeros
            torch.nn.init.normal_(module.heads.head.weight, std=0.02)
        if name.startswith("swin"):
            return Network(module, {"image": image(batch, size)}, ["logits"], float32_scale_of_windows)
        return Network(module, {"image": image(batch, size)}, ["logits"])
    return build


def vision_transformer(size, classes, **sizes):
    """torchvision's; without other sizes ViT-S/16 (Touvron et al. 2021)."""
    torch = torch_of()
    from torchvision.models import VisionTransformer
    small = dict(patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536)
    module = VisionTransformer(image_size=size, num_classes=classes, **{**small, **sizes})
    torch.nn.init.normal_(module.heads.head.weight, std=0.02)  # else zeros
    return module


def vit_s_16(batch):
    return Network(vision_transformer(224, 1000).eval(), {"image": image(batch, 224)}, ["logits"])


@contextlib.contextmanager
def float32_scale_of_windows():
    """Queries are scaled by the root of the head's size, which both exporters of PyTorch write in float32."""
    import torch
    from torchvision.models import swin_transformer
    original = swin_transformer.shifted_window_attention

    def scaled(tensor, channels, heads):
        exact = (channels // heads) ** -0.5
        ratio = torch.ones_like(tensor)
        ratio[:channels] = struct.unpack("f", struct.pack("f", exact))[0] / exact
        return tensor * ratio

    def attention(x, qkv_weight, proj_weight, bias, window, heads, *, qkv_bias, **more):
        channels = x.shape[-1]
        return original(x, scaled(qkv_weight, channels, heads), proj_weight, bias, window, heads,
                        qkv_bias=scaled(qkv_bias, channels, heads), **more)

    swin_transformer.shifted_window_attention = attention
    try:
        yield
    finally:
        swin_transformer.shifted_window_attention = original


def segmentation(name, size=224):
    def build(batch):
        torch_of()
        import torchvision
        module = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None)
        settle_statistics(module, size)
        return Network(module_of(module, lambda inner, x: inner(x)["out"]), {"image": image(batch, size)}, ["out"])
    return build


def spread(layers, deviation, run):
    """Random networks score all places about alike, and then rounding decides which is first; or, where weights are too
    large, as certain, and all boxes cover the image. `run` runs the network; each layer's results get that deviation."""
    torch = torch_of(SEED + 2)
    for layer in layers:
        torch.nn.init.normal_(layer.weight, std=0.01)
        found = []
        hook = layer.register_forward_hook(lambda _, __, result: found.append(result.std()))
        with torch.no_grad():
            run()
            hook.remove()
            layer.weight *= deviation / sum(found) * len(found)


def detection(name, size, **more):
    def build(batch):
        torch = torch_of()
        import torchvision
        module = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, num_classes=5,
                                                                    **more)

        def run():
            module([image(1, size)[0]])

        if name.startswith("ssd"):
            settle_statistics(module, size, lambda x: module.head(list(module.backbone(x).values())))
            spread([m for m in module.head.classification_head.modules()
                    if isinstance(m, torch.nn.Conv2d) and m.kernel_size == (1, 1)], 1.5, run)
        else:
            settle_statistics(module, size, module.backbone)
            last = module.roi_heads.box_predictor
            spread([module.rpn.head.bbox_pred, module.rpn.head.cls_logits], 0.5, run)
            spread([last.bbox_pred, last.cls_score], 1.5, run)

        def forward(inner, x):
            found = inner([x])[0]
            return found["boxes"], found["scores"], found["labels"]

        if batch != 1:
            raise ValueError("detection networks take one image")
        return Network(module_of(module, forward), {"image": image(1, size)[0]}, ["boxes", "scores", "labels"])
    return build


def tokens(batch, length, most, seed=SEED + 1):
    return torch_of(seed).randint(0, most, (batch, length))


def language_model(module, ids):
    def forward(inner, given, mask):
        return inner(input_ids=given, attention_mask=mask, use_cache=False).logits

    # With a mask the masks' code does not look for several texts in one, which the older exporter has no words for.
    return Network(module_of(module, forward), {"input_ids": ids, "attention_mask": ids.new_ones(ids.shape)}, ["logits"])


def gpt2(batch):
    torch_of()
    import transformers
    module = transformers.GPT2LMHeadModel(transformers.GPT2Config(attn_implementation="eager")).eval()
    return language_model(module, tokens(batch, 64, 50257))


def bert(batch):
    torch = torch_of()
    import transformers
    module = transformers.BertModel(transformers.BertConfig(attn_implementation="eager")).eval()
    mask = torch.ones(batch, 64, dtype=torch.int64)
    mask[:, 50:] = 0  # the end is padding

    def forward(inner, ids, given_mask):
        found = inner(input_ids=ids, attention_mask=given_mask)
        return found.last_hidden_state, found.pooler_output

    return Network(module_of(module, forward), {"input_ids": tokens(batch, 64, 30522), "attention_mask": mask},
                   ["last_hidden_state", "pooler_output"])


def llama(batch):
    torch_of()
    import transformers
    config = transformers.LlamaConfig(vocab_size=4096, hidden_size=256, intermediate_size=688, num_hidden_layers=4,
                                      num_attention_heads=16, num_key_value_heads=8, max_position_embeddings=256,
                                      attn_implementation="eager")
    module = transformers.LlamaForCausalLM(config).eval()
    return language_model(module, tokens(batch, 64, 4096))


def whisper_tiny(batch):
    torch = torch_of()
    import transformers
    # The numbers of openai/whisper-tiny; what the configuration takes by itself is whisper-tiny's, too.
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6,
                                        decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536,
                                        attn_implementation="eager")
    module = transformers.WhisperForConditionalGeneration(config).eval()
    features = torch_of(SEED + 1).randn(batch, 80, 3000)

    def forward(inner, sound, ids, mask):
        return inner(input_features=sound, decoder_input_ids=ids, decoder_attention_mask=mask, use_cache=False).logits

    ids = tokens(batch, 16, 50000, SEED + 3)
    return Network(module_of(module, forward), {"input_features": features, "decoder_input_ids": ids,
                                                "decoder_attention_mask": ids.new_ones(ids.shape)}, ["logits"])


NETWORKS = {
    "resnet18": vision("resnet18"),
    "resnet50": vision("resnet50"),
    "vgg11": vision("vgg11", settle=False),
    "mobilenet_v3_large": vision("mobilenet_v3_large"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "densenet121": vision("densenet121"),
    "convnext_tiny": vision("convnext_tiny", settle=False),
    "vit_b_16": vision("vit_b_16", settle=False),
    "vit_s_16": vit_s_16,
    "swin_t": vision("swin_t", settle=False),
    "deeplabv3_mobilenet_v3_large": segmentation("deeplabv3_mobilenet_v3_large"),
    "fcn_resnet50": segmentation("fcn_resnet50"),
    "ssdlite320_mobilenet_v3_large": detection("ssdlite320_mobilenet_v3_large", 320, detections_per_img=20),
    "fasterrcnn_mobilenet_v3_large_320_fpn": detection("fasterrcnn_mobilenet_v3_large_320_fpn", 320),
    "gpt2": gpt2,
    "bert": bert,
    "llama": llama,
    "whisper_tiny": whisper_tiny,
}
