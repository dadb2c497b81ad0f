# Trains the GPT or the Llama of microbench/peers/compare.py in PyTorch, as a user would write it
# (GPT-2's block with tied embeddings, or Llama's with its own head; AdamW), and prints one JSON line
# with milliseconds per step.
import argparse
import json
import math
import os
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, hidden, heads, sequence):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.projection = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.register_buffer("mask", torch.full((sequence, sequence), float("-inf")).triu(1))

    def attention(self, x):
        batch, sequence, hidden = x.shape
        q, k, v = (
            part.view(batch, sequence, self.heads, hidden // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(hidden, dim=2)
        )
        if hasattr(functional, "scaled_dot_product_attention"):  # PyTorch 2
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) * (1.0 / math.sqrt(hidden // self.heads))
            y = torch.softmax(scores + self.mask, dim=-1) @ v
        return self.projection(y.transpose(1, 2).reshape(batch, sequence, hidden))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.table = nn.Embedding(options.vocabulary, options.hidden)
        self.positions = nn.Embedding(options.sequence, options.hidden)
        self.blocks = nn.ModuleList(
            Block(options.hidden, options.heads, options.sequence) for _ in range(options.layers)
        )
        self.norm = nn.LayerNorm(options.hidden)

    def forward(self, tokens, targets):
        x = self.table(tokens) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.table.weight)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class RmsNorm(nn.Module):
    def __init__(self, hidden, epsilon=1e-5):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(hidden)), epsilon

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.weight


class LlamaBlock(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.heads, self.key_value_heads = options.heads, options.key_value_heads
        self.size = options.hidden // options.heads
        hidden, columns = options.hidden, self.size * (options.heads + 2 * options.key_value_heads)
        self.norm1, self.norm2 = RmsNorm(hidden), RmsNorm(hidden)
        self.qkv, self.projection = nn.Linear(hidden, columns, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.up = nn.Linear(hidden, 2 * options.mlp_width, bias=False)  # gates, then what they let through
        self.down = nn.Linear(options.mlp_width, hidden, bias=False)
        self.register_buffer("mask", torch.full((options.sequence, options.sequence), float("-inf")).triu(1))
        turns = options.rotary_base ** (-torch.arange(0, self.size, 2, dtype=torch.float64) / self.size)
        angles = torch.outer(torch.arange(options.sequence, dtype=torch.float64), turns).repeat(1, 2)
        self.register_buffer("cosines", angles.cos().float())
        self.register_buffer("sines", angles.sin().float())

    def turned(self, x):
        half = self.size // 2
        return x * self.cosines + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * self.sines

    def attention(self, x):
        batch, sequence, hidden = x.shape
        shared = self.key_value_heads * self.size
        q, k, v = (
            part.view(batch, sequence, -1, self.size).transpose(1, 2)
            for part in self.qkv(x).split((hidden, shared, shared), dim=2)
        )
        group = self.heads // self.key_value_heads
        q, k = self.turned(q), self.turned(k).repeat_interleave(group, dim=1)
        v = v.repeat_interleave(group, dim=1)
        if hasattr(functional, "scaled_dot_product_attention"):  # PyTorch 2
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) * (1.0 / math.sqrt(self.size))
            y = torch.softmax(scores + self.mask, dim=-1) @ v
        return self.projection(y.transpose(1, 2).reshape(batch, sequence, hidden))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        gates, through = self.up(self.norm2(x)).chunk(2, dim=2)
        return x + self.down(functional.silu(gates) * through)


class Llama(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.table = nn.Embedding(options.vocabulary, options.hidden)
        self.blocks = nn.ModuleList(LlamaBlock(options) for _ in range(options.layers))
        self.norm = RmsNorm(options.hidden)
        self.head = nn.Linear(options.hidden, options.vocabulary, bias=False)

    def logits(self, tokens):
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def forward(self, tokens, targets):
        return functional.cross_entropy(self.logits(tokens).flatten(0, 1), targets.flatten())


# Fourfold's models of these names, as their files say.
GPT2_MINI = dict(layers=6, heads=6, hidden=384, vocabulary=8192, sequence=256)
MODELS = {
    "gpt2-mini": (Gpt, GPT2_MINI),
    "llama-mini": (Llama, dict(GPT2_MINI, key_value_heads=2, mlp_width=1024, rotary_base=10000.0)),
    "llama-bytes": (Llama, dict(layers=4, heads=16, key_value_heads=8, hidden=128, mlp_width=352, vocabulary=256,
                                sequence=64, rotary_base=10000.0)),
}


def model_named(name):
    kind, shape = MODELS[name]
    return kind(argparse.Namespace(**shape)), argparse.Namespace(**shape)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, default="gpt2-mini")
    for name, value in dict(batch=4, threads=1, steps=6, warm_up=2).items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=value)
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    model, shape = model_named(options.model)
    if ranks > 1:
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    words = torch.randint(shape.vocabulary, (options.batch // ranks, shape.sequence + 1))
    tokens, targets = words[:, :-1].contiguous(), words[:, 1:].contiguous()
    milliseconds = []
    for step in range(options.warm_up + options.steps):
        begin = time.perf_counter()
        loss = model(tokens, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        if step >= options.warm_up:
            milliseconds.append(1e3 * (time.perf_counter() - begin))
    if int(os.environ.get("RANK", "0")) == 0:
        print(json.dumps({"peer": "PyTorch " + torch.__version__, "threads": options.threads,
                          "ranks": ranks, "step_ms": milliseconds}))


if __name__ == "__main__":
    main()
