#!/usr/bin/env python3
"""Small models in Hugging Face's layout, written and computed by hand, for checkpoint_conversion_test.sh.

  foreign_models.py make KIND FOLDER FILES  writes config.json and tensors of fp32, bf16 and fp16 in FILES files
  foreign_models.py draw FOLDER COUNT       words that follow 1 2 3 greedily, computed as transformers does
  foreign_models.py near FOLDER LINE        fails unless the logits in a line of JSON are those after 1 2 3
  foreign_models.py same FOLDER OTHER       fails unless all tensors are the same bits of the same type
  foreign_models.py types FOLDER            every tensor's type and shape

KIND: gpt2; llama, with shared keys, heads wider than the model and Llama 3.1's positions; llama-tied, without,
but with a head that repeats the embedding.
"""
import json
import math
import os
import random
import struct
import sys

HIDDEN, SEQUENCE, VOCABULARY = 16, 12, 50
FORMATS = {"F32": 4, "BF16": 2, "F16": 2}
CONFIGS = {
    "gpt2": {"model_type": "gpt2", "n_layer": 2, "n_embd": HIDDEN, "n_head": 4, "n_positions": SEQUENCE,
             "vocab_size": VOCABULARY, "n_inner": None, "activation_function": "gelu_new",
             "layer_norm_epsilon": 1e-5},
    "llama": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": HIDDEN, "num_attention_heads": 4,
              "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 20, "vocab_size": VOCABULARY,
              "max_position_embeddings": SEQUENCE, "rms_norm_eps": 1e-4, "rope_theta": 100.0,
              "hidden_act": "silu", "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False,
              "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                               "original_max_position_embeddings": 32}},
    "llama-tied": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": HIDDEN, "num_attention_heads": 4,
                   "intermediate_size": 20, "vocab_size": VOCABULARY, "max_position_embeddings": SEQUENCE,
                   "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "rope_scaling": None},
}


def bits_of(kind, x):
    if kind == "F16":
        return struct.pack("<e", x)
    single = struct.pack("<f", x)
    return single if kind == "F32" else single[2:]  # cut off: any bf16 will do


def number_of(kind, piece):
    if kind == "F16":
        return struct.unpack("<e", piece)[0]
    return struct.unpack("<f", piece if kind == "F32" else b"\0\0" + piece)[0]


def gpt2_shapes():
    yield "transformer.wte.weight", [VOCABULARY, HIDDEN]
    yield "transformer.wpe.weight", [SEQUENCE, HIDDEN]
    for i in range(2):
        for name, rows, cols in [("attn.c_attn", HIDDEN, 3 * HIDDEN), ("attn.c_proj", HIDDEN, HIDDEN),
                                 ("mlp.c_fc", HIDDEN, 4 * HIDDEN), ("mlp.c_proj", 4 * HIDDEN, HIDDEN)]:
            yield f"transformer.h.{i}.{name}.weight", [rows, cols]
            yield f"transformer.h.{i}.{name}.bias", [cols]
        for name in ("ln_1", "ln_2"):
            yield f"transformer.h.{i}.{name}.weight", [HIDDEN]
            yield f"transformer.h.{i}.{name}.bias", [HIDDEN]
    yield "transformer.ln_f.weight", [HIDDEN]
    yield "transformer.ln_f.bias", [HIDDEN]


def llama_heads(config):
    """Heads of queries, heads of keys and values, columns of each."""
    heads = config["num_attention_heads"]
    return heads, config.get("num_key_value_heads", heads), config.get("head_dim", HIDDEN // heads)


def llama_shapes(config):
    heads, shared, size = llama_heads(config)
    width = config["intermediate_size"]
    yield "model.embed_tokens.weight", [VOCABULARY, HIDDEN]
    for i in range(2):
        at = f"model.layers.{i}."
        for name, rows, cols in [("self_attn.q_proj", heads * size, HIDDEN), ("self_attn.k_proj", shared * size, HIDDEN),
                                 ("self_attn.v_proj", shared * size, HIDDEN), ("self_attn.o_proj", HIDDEN, heads * size),
                                 ("mlp.gate_proj", width, HIDDEN), ("mlp.up_proj", width, HIDDEN),
                                 ("mlp.down_proj", HIDDEN, width)]:
            yield f"{at}{name}.weight", [rows, cols]
        yield at + "input_layernorm.weight", [HIDDEN]
        yield at + "post_attention_layernorm.weight", [HIDDEN]
    yield "model.norm.weight", [HIDDEN]
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", [VOCABULARY, HIDDEN]


def make(kind, folder, files):
    os.makedirs(folder)
    config = CONFIGS[kind]
    draw = random.Random(5)
    formats = list(FORMATS)
    shapes = list(gpt2_shapes() if kind == "gpt2" else llama_shapes(config))
    groups = [{} for _ in range(files)]
    for number, (name, shape) in enumerate(shapes):
        form = formats[number % 3]
        data = b"".join(bits_of(form, draw.gauss(0, 0.5)) for _ in range(math.prod(shape)))
        groups[number * files // len(shapes)][name] = (form, shape, data)
    if kind == "gpt2":  # what old versions saved beside the weights
        groups[0]["transformer.h.0.attn.bias"] = ("BOOL", [1, 1, 2, 2], bytes([1, 0, 1, 1]))
    else:
        groups[0]["model.layers.0.self_attn.rotary_emb.inv_freq"] = ("F32", [2], struct.pack("<2f", 1, 0.1))
    if kind == "llama-tied":
        groups[-1]["lm_head.weight"] = groups[0]["model.embed_tokens.weight"]
    weight_map = {}
    for number, group in enumerate(groups):
        file = "model.safetensors" if files == 1 else f"model-{number + 1:05}-of-{files:05}.safetensors"
        head, place = {"__metadata__": {"format": "pt"}}, 0
        for name, (form, shape, data) in group.items():
            head[name] = {"dtype": form, "shape": shape, "data_offsets": [place, place + len(data)]}
            place += len(data)
            weight_map[name] = file
        text = json.dumps(head).encode()
        with open(os.path.join(folder, file), "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + b"".join(g[2] for g in group.values()))
    if files > 1:
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as out:
            json.dump({"metadata": {"total_size": 1}, "weight_map": weight_map}, out)
    with open(os.path.join(folder, "config.json"), "w") as out:
        json.dump(config, out)


def read(folder):
    tensors = {}
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".safetensors"):
            continue
        with open(os.path.join(folder, file), "rb") as data:
            raw = data.read()
        length = struct.unpack("<Q", raw[:8])[0]
        for name, entry in json.loads(raw[8:8 + length]).items():
            if name == "__metadata__" or name.endswith((".attn.bias", ".inv_freq")):
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


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def plus(rows, others):
    return [[a + b for a, b in zip(x, y)] for x, y in zip(rows, others)]


def product(row, weight, bias):  # Conv1D: inputs x outputs
    return [b + sum(x * weight[i][o] for i, x in enumerate(row)) for o, b in enumerate(bias)]


def linear(row, weight):  # outputs x inputs
    return [dot(row, of_output) for of_output in weight]


def layer_norm(row, weight, bias):
    mean = sum(row) / len(row)
    variance = sum((x - mean) ** 2 for x in row) / len(row)
    return [(x - mean) / math.sqrt(variance + 1e-5) * w + b for x, w, b in zip(row, weight, bias)]


def rms_norm(row, weight, epsilon):
    size = math.sqrt(dot(row, row) / len(row) + epsilon)
    return [x / size * w for x, w in zip(row, weight)]


def gelu(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def attention(queries, keys, values, heads):
    """Rows of whole heads, those of keys and values perhaps fewer, each for as many heads of queries."""
    size = len(queries[0]) // heads
    group = heads * size // len(keys[0])
    result = [[0.0] * (heads * size) for _ in queries]
    for head in range(heads):
        own, shared = slice(head * size, head * size + size), slice(head // group * size, (head // group + 1) * size)
        for t, query in enumerate(queries):
            scores = [dot(query[own], keys[u][shared]) / math.sqrt(size) for u in range(t + 1)]
            weights = [math.exp(s - max(scores)) for s in scores]
            for u, weight in enumerate(weights):
                for c, value in enumerate(values[u][shared]):
                    result[t][head * size + c] += weight / sum(weights) * value
    return result


def gpt2_stream(w, words):
    w = {name.removeprefix("transformer."): matrix for name, matrix in w.items()}
    stream = plus([w["wte.weight"][word] for word in words], w["wpe.weight"])
    for i in range(2):
        at = lambda name: (w[f"h.{i}.{name}.weight"], w[f"h.{i}.{name}.bias"])
        rows = [product(layer_norm(row, *at("ln_1")), *at("attn.c_attn")) for row in stream]
        parts = [[row[which * HIDDEN:(which + 1) * HIDDEN] for row in rows] for which in range(3)]
        stream = plus(stream, [product(row, *at("attn.c_proj")) for row in attention(*parts, 4)])
        rows = [product(layer_norm(row, *at("ln_2")), *at("mlp.c_fc")) for row in stream]
        stream = plus(stream, [product([gelu(x) for x in row], *at("mlp.c_proj")) for row in rows])
    return layer_norm(stream[-1], w["ln_f.weight"], w["ln_f.bias"]), w["wte.weight"]


def rotary_frequencies(config, size):
    """transformers' _compute_llama3_parameters."""
    scaling = config.get("rope_scaling")
    for i in range(size // 2):
        frequency = config.get("rope_theta", 10000.0) ** (-2 * i / size)
        if scaling:
            wavelength, trained = 2 * math.pi / frequency, scaling["original_max_position_embeddings"]
            low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
            if wavelength > trained / low:
                frequency /= scaling["factor"]
            elif wavelength >= trained / high:
                smooth = (trained / wavelength - low) / (high - low)
                frequency *= (1 - smooth) / scaling["factor"] + smooth
        yield frequency


def turned(rows, frequencies):
    """transformers' apply_rotary_pos_emb: the first half of a head turns with the second."""
    half, result = len(frequencies), []
    for position, row in enumerate(rows):
        new = list(row)
        for first in range(0, len(row), 2 * half):
            for i, frequency in enumerate(frequencies):
                a, b = row[first + i], row[first + half + i]
                cosine, sine = math.cos(position * frequency), math.sin(position * frequency)
                new[first + i], new[first + half + i] = a * cosine - b * sine, b * cosine + a * sine
        result.append(new)
    return result


def llama_stream(config, w, words):
    heads, _, size = llama_heads(config)
    frequencies, epsilon = list(rotary_frequencies(config, size)), config["rms_norm_eps"]
    stream = [w["model.embed_tokens.weight"][word] for word in words]
    for i in range(2):
        at = lambda name: w[f"model.layers.{i}.{name}.weight"]
        rows = [rms_norm(row, at("input_layernorm"), epsilon) for row in stream]
        q, k, v = ([linear(row, at(f"self_attn.{name}_proj")) for row in rows] for name in "qkv")
        rows = attention(turned(q, frequencies), turned(k, frequencies), v, heads)
        stream = plus(stream, [linear(row, at("self_attn.o_proj")) for row in rows])
        for t, row in enumerate(stream):
            row = rms_norm(row, at("post_attention_layernorm"), epsilon)
            gates, ups = linear(row, at("mlp.gate_proj")), linear(row, at("mlp.up_proj"))
            through = [g / (1 + math.exp(-g)) * u for g, u in zip(gates, ups)]
            stream[t] = [a + b for a, b in zip(stream[t], linear(through, at("mlp.down_proj")))]
    last = rms_norm(stream[-1], w["model.norm.weight"], epsilon)
    return last, w.get("lm_head.weight", w["model.embed_tokens.weight"])


def logits(folder, words):
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    w = {name: numbers(tensor) for name, tensor in read(folder).items()}
    gpt2 = config["model_type"] == "gpt2"
    last, head = gpt2_stream(w, words) if gpt2 else llama_stream(config, w, words)
    return linear(last, head)


def draw(folder, count):
    words = [1, 2, 3]
    for _ in range(count):
        likely = logits(folder, words)
        words.append(likely.index(max(likely)))
    return words


def near(folder, line):
    ours, theirs = json.loads(line)["logits"], logits(folder, [1, 2, 3])
    apart = max(abs(a - b) for a, b in zip(ours, theirs)) / max(map(abs, theirs))
    if len(ours) != len(theirs) or not apart < 1e-5:
        sys.exit(f"{len(ours)} logits instead of {len(theirs)}, which part by {apart:g} of the largest")


def main():
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "make":
        make(words[0], words[1], int(words[2]))
    elif verb == "draw":
        print(*draw(words[0], int(words[1])))
    elif verb == "near":
        near(*words)
    elif verb == "types":
        for name, (form, shape, _) in sorted(read(words[0]).items()):
            print(name, form, shape)
    elif read(words[0]) != read(words[1]):
        sys.exit(f"{words[0]} and {words[1]} differ")


main()
