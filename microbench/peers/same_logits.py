# Fourfold and PyTorch say the same of the same checkpoint: writes Llamas in Hugging Face's layout, has
# `fourfold checkpoint import` take them over, and compares the logits after a prompt with those of the block
# written plainly in PyTorch. Needs python3-torch (Debian's is enough).
#
#   /usr/bin/python3 microbench/peers/same_logits.py [--fourfold build/bin/fourfold] [--grid 1x1x1x1]
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
try:
    import torch
except ImportError:
    print("same_logits.py: skipped, this Python has no torch (Debian: apt install python3-torch, and /usr/bin/python3)")
    sys.exit(0)
sys.path.insert(0, here)
import pytorch_mini  # noqa: E402

TYPES = {torch.float32: ("F32", torch.int32, "i"), torch.bfloat16: ("BF16", torch.int16, "h")}


def theirs(model, shape):
    """Every tensor by its name in Hugging Face's layout."""
    yield "model.embed_tokens.weight", model.table.weight
    shared = shape.key_value_heads * model.blocks[0].size
    for i, block in enumerate(model.blocks):
        at = f"model.layers.{i}."
        for name, part in zip("qkv", block.qkv.weight.split((shape.hidden, shared, shared))):
            yield f"{at}self_attn.{name}_proj.weight", part
        yield at + "self_attn.o_proj.weight", block.projection.weight
        gates, through = block.up.weight.chunk(2)
        yield at + "mlp.gate_proj.weight", gates
        yield at + "mlp.up_proj.weight", through
        yield at + "mlp.down_proj.weight", block.down.weight
        yield at + "input_layernorm.weight", block.norm1.weight
        yield at + "post_attention_layernorm.weight", block.norm2.weight
    yield "model.norm.weight", model.norm.weight
    yield "lm_head.weight", model.head.weight


def write(folder, model, shape, kind):
    os.makedirs(folder)
    name, bits, letter = TYPES[kind]
    head, data = {}, b""
    for tensor_name, tensor in theirs(model, shape):
        flat = tensor.detach().to(kind).contiguous().view(bits).flatten().tolist()
        piece = struct.pack(f"<{len(flat)}{letter}", *flat)
        head[tensor_name] = {"dtype": name, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(head).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"model_type": "llama", "num_hidden_layers": shape.layers, "hidden_size": shape.hidden,
                   "num_attention_heads": shape.heads, "num_key_value_heads": shape.key_value_heads,
                   "intermediate_size": shape.mlp_width, "vocab_size": shape.vocabulary,
                   "max_position_embeddings": shape.sequence, "rms_norm_eps": 1e-5,
                   "rope_theta": shape.rotary_base, "tie_word_embeddings": False}, file)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"same_logits.py: {' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def compare(options, name, kind, folder):
    model, shape = pytorch_mini.model_named(name)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():  # rough, so that no part of the model is without effect
            parameter.add_(0.05 * torch.randn_like(parameter)).copy_(parameter.to(kind))
    write(os.path.join(folder, "theirs"), model, shape, kind)
    run(options.fourfold, "checkpoint", "import", os.path.join(folder, "theirs"), os.path.join(folder, "ours"))
    words = torch.randint(shape.vocabulary, (1, shape.sequence)) % 256
    prompt = " ".join(map(str, words[0].tolist()))
    if shape.vocabulary == 256:  # bytes: plain ones, so that they can be typed
        words = 97 + words % 26
        prompt = "".join(map(chr, words[0].tolist()))
    line = json.loads(run(options.fourfold, "sample", "--checkpoint", os.path.join(folder, "ours"), "--prompt", prompt,
                          "--tokens", "1", "--temperature", "0", "--grid", options.grid, "--json", "--logits"))
    ours = torch.tensor(line["logits"])
    with torch.no_grad():
        expected = model.logits(words)[0, -1]
    apart = ((ours - expected).abs().max() / expected.abs().max()).item()
    print(f"{name:12} {TYPES[kind][0]:5} {len(ours):6} logits after {shape.sequence} words, at most {expected.abs().max():.2f}: "
          f"they part by {apart:.1e} of that")
    return apart


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fourfold", default=os.path.join(here, "../../build/bin/fourfold"))
    parser.add_argument("--grid", default="1x1x1x1")
    parser.add_argument("--tolerance", type=float, default=1e-5, help="of the largest logit")
    options = parser.parse_args()
    worst = 0.0
    for name in ("llama-bytes", "llama-mini"):
        for kind in TYPES:
            with tempfile.TemporaryDirectory() as folder:
                worst = max(worst, compare(options, name, kind, folder))
    if not worst <= options.tolerance:
        sys.exit(f"same_logits.py: the two part by more than {options.tolerance:g}")


main()
