#!/usr/bin/env python3
"""A small GPT-2 in Hugging Face's layout, written and computed by hand, for checkpoint_exchange_test.sh.

  foreign_gpt2.py make FOLDER FILES    writes config.json and tensors of fp32, bf16 and fp16 in FILES files
  foreign_gpt2.py draw FOLDER COUNT    words that follow 1 2 3 greedily, computed as transformers does
  foreign_gpt2.py same FOLDER OTHER    fails unless all tensors are the same bits of the same type
"""
import json
import math
import os
import random
import struct
import sys

LAYERS, HIDDEN, HEADS, SEQUENCE, VOCABULARY = 2, 16, 4, 12, 50
FORMATS = {"F32": 4, "BF16": 2, "F16": 2}


def bits_of(kind, x):
    if kind == "F16":
        return struct.pack("<e", x)
    single = struct.pack("<f", x)
    return single if kind == "F32" else single[2:]  # cut off: any bf16 will do


def number_of(kind, piece):
    if kind == "F16":
        return struct.unpack("<e", piece)[0]
    return struct.unpack("<f", piece if kind == "F32" else b"\0\0" + piece)[0]


def shapes():
    yield "wte.weight", [VOCABULARY, HIDDEN]
    yield "wpe.weight", [SEQUENCE, HIDDEN]
    for i in range(LAYERS):
        for name, rows, cols in [("attn.c_attn", HIDDEN, 3 * HIDDEN), ("attn.c_proj", HIDDEN, HIDDEN),
                                 ("mlp.c_fc", HIDDEN, 4 * HIDDEN), ("mlp.c_proj", 4 * HIDDEN, HIDDEN)]:
            yield f"h.{i}.{name}.weight", [rows, cols]
            yield f"h.{i}.{name}.bias", [cols]
        for name in ("ln_1", "ln_2"):
            yield f"h.{i}.{name}.weight", [HIDDEN]
            yield f"h.{i}.{name}.bias", [HIDDEN]
    yield "ln_f.weight", [HIDDEN]
    yield "ln_f.bias", [HIDDEN]


def make(folder, files):
    os.makedirs(folder)
    draw = random.Random(5)
    kinds = list(FORMATS)
    groups = [{} for _ in range(files)]
    for number, (name, shape) in enumerate(shapes()):
        kind = kinds[number % 3]
        count = math.prod(shape)
        data = b"".join(bits_of(kind, draw.gauss(0, 0.5)) for _ in range(count))
        groups[number * files // 33 % files]["transformer." + name] = (kind, shape, data)
    groups[0]["transformer.h.0.attn.bias"] = ("F32", [1, 1, 2, 2], struct.pack("<4f", 1, 0, 1, 1))
    weight_map = {}
    for number, group in enumerate(groups):
        file = "model.safetensors" if files == 1 else f"model-{number + 1:05}-of-{files:05}.safetensors"
        head, place = {"__metadata__": {"format": "pt"}}, 0
        for name, (kind, shape, data) in group.items():
            head[name] = {"dtype": kind, "shape": shape, "data_offsets": [place, place + len(data)]}
            place += len(data)
            weight_map[name] = file
        text = json.dumps(head).encode()
        with open(os.path.join(folder, file), "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + b"".join(g[2] for g in group.values()))
    if files > 1:
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as out:
            json.dump({"metadata": {"total_size": 1}, "weight_map": weight_map}, out)
    with open(os.path.join(folder, "config.json"), "w") as out:
        json.dump({"model_type": "gpt2", "n_layer": LAYERS, "n_embd": HIDDEN, "n_head": HEADS,
                   "n_positions": SEQUENCE, "vocab_size": VOCABULARY, "n_inner": None,
                   "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}, out)


def read(folder):
    tensors = {}
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".safetensors"):
            continue
        with open(os.path.join(folder, file), "rb") as data:
            raw = data.read()
        length = struct.unpack("<Q", raw[:8])[0]
        for name, entry in json.loads(raw[8:8 + length]).items():
            if name == "__metadata__" or name.endswith(".attn.bias"):
                continue
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = (entry["dtype"], entry["shape"], raw[begin:end])
    return tensors


def numbers(tensor):
    kind, shape, data = tensor
    width = FORMATS[kind]
    flat = [number_of(kind, data[i:i + width]) for i in range(0, len(data), width)]
    if len(shape) == 1:
        return flat
    return [flat[r * shape[1]:(r + 1) * shape[1]] for r in range(shape[0])]


def product(row, weight, bias):  # Conv1D: inputs x outputs
    return [b + sum(x * weight[i][o] for i, x in enumerate(row)) for o, b in enumerate(bias)]


def norm(row, weight, bias):
    mean = sum(row) / len(row)
    variance = sum((x - mean) ** 2 for x in row) / len(row)
    return [(x - mean) / math.sqrt(variance + 1e-5) * w + b for x, w, b in zip(row, weight, bias)]


def gelu(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def attention(rows, of_head):
    result = [[0.0] * HIDDEN for _ in rows]
    for head in range(HEADS):
        part = lambda row, which: row[which * HIDDEN + head * of_head:][:of_head]
        for t, row in enumerate(rows):
            scores = [sum(q * k for q, k in zip(part(row, 0), part(rows[u], 1))) / math.sqrt(of_head)
                      for u in range(t + 1)]
            weights = [math.exp(s - max(scores)) for s in scores]
            for u, weight in enumerate(weights):
                for c, value in enumerate(part(rows[u], 2)):
                    result[t][head * of_head + c] += weight / sum(weights) * value
    return result


def logits(w, words):
    stream = [[a + b for a, b in zip(w["wte.weight"][word], w["wpe.weight"][t])]
              for t, word in enumerate(words)]
    for i in range(LAYERS):
        at = lambda name: (w[f"h.{i}.{name}.weight"], w[f"h.{i}.{name}.bias"])
        rows = [product(norm(row, *at("ln_1")), *at("attn.c_attn")) for row in stream]
        rows = [product(row, *at("attn.c_proj")) for row in attention(rows, HIDDEN // HEADS)]
        stream = [[a + b for a, b in zip(x, y)] for x, y in zip(stream, rows)]
        rows = [product(norm(row, *at("ln_2")), *at("mlp.c_fc")) for row in stream]
        rows = [product([gelu(x) for x in row], *at("mlp.c_proj")) for row in rows]
        stream = [[a + b for a, b in zip(x, y)] for x, y in zip(stream, rows)]
    last = norm(stream[-1], w["ln_f.weight"], w["ln_f.bias"])
    return [sum(a * b for a, b in zip(last, word)) for word in w["wte.weight"]]


def draw(folder, count):
    w = {name.removeprefix("transformer."): numbers(tensor) for name, tensor in read(folder).items()}
    words = [1, 2, 3]
    for _ in range(count):
        likely = logits(w, words)
        words.append(likely.index(max(likely)))
    return words


def main():
    verb, folder, word = sys.argv[1:4]
    if verb == "make":
        make(folder, int(word))
    elif verb == "draw":
        print(*draw(folder, int(word)))
    elif read(folder) != read(word):
        sys.exit(f"{folder} and {word} differ")


main()
