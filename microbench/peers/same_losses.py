# Fourfold and PyTorch train the same model from the same weights on the same words: prints both losses and
# gradient norms of every step, and fails where they part. Needs python3-torch (Debian's is enough).
#
#   /usr/bin/python3 microbench/peers/same_losses.py [--model gpt2-mini|llama-mini|llama-bytes] [--grid 1x1x1x1] [--steps 6]
#                                                    [--engine build/bin/fourfold-engine]
#
# PyTorch starts from Fourfold's checkpoint after its first step, a safetensors file that this script reads
# by itself: weights and both moments of AdamW, with their names, shapes and layouts. From there both
# take the same steps: fp32, AdamW with decay of matrices only, clipping at 1. Afterwards the weights
# themselves are compared with Fourfold's last checkpoint.
import argparse
import array
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
try:
    import torch
except ImportError:
    print("same_losses.py: skipped, this Python has no torch (Debian: apt install python3-torch, and /usr/bin/python3)")
    sys.exit(0)
sys.path.insert(0, here)
import pytorch_mini  # noqa: E402

BATCH = 4


def write_words(path, vocabulary):
    """Words by Zipf's law, each second one a function of the one before: there is something to learn."""
    drawn = random.Random(1)
    words = array.array("H")
    for _ in range(50_000):
        word = min(vocabulary - 1, int(drawn.paretovariate(0.9)))
        words.extend((word, (7 * word + 1) % vocabulary))
    with open(path, "wb") as file:
        words.tofile(file)
    return words


def fourfold(options, folder, data):
    """Runs the engine, a checkpoint after every step. Returns the log's lines of steps."""
    command = [options.engine, "train", "--model", options.model, "--data", data,
               "--data-order", "sequential", "--batch", str(BATCH),
               "--steps", str(options.steps + 1), "--grid", options.grid,
               "--learning-rate", "3e-4", "--warm-up", "4", "--checkpoint-every", "1",
               "--keep-checkpoints", str(options.steps + 1), "--tokens", "0", "--validation-batches", "1",
               "--folder", folder]
    ranks = 1
    for extent in options.grid.split("x"):
        ranks *= int(extent)
    if ranks > 1:
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        command = ["mpirun", *root, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-np", str(ranks),
                   *command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"same_losses.py: {' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    with open(os.path.join(folder, "log.jsonl")) as log:
        return [line for line in map(json.loads, log) if line["kind"] == "step"]


def safetensors(folder, step):
    """Every matrix of a checkpoint by its name."""
    with open(os.path.join(folder, "checkpoints", f"step-{step:08}.safetensors"), "rb") as file:
        content = bytearray(file.read())
    length, = struct.unpack("<Q", content[:8])
    head = json.loads(content[8:8 + length])
    matrices = {}
    for name, entry in head.items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            matrices[name] = torch.frombuffer(content[begin:end], dtype=torch.float32).view(entry["shape"])
    return matrices


def by_part(matrix, heads, key_value_heads):
    """Fourfold's columns, the queries of a group, then its key and its value, to all q, all k, all v."""
    rows, columns = matrix.shape
    group, size = heads // key_value_heads, columns // (heads + 2 * key_value_heads)
    parts = matrix.view(rows, key_value_heads, group + 2, size).split((group, 1, 1), dim=2)
    return torch.cat([part.reshape(rows, -1) for part in parts], dim=1)


def pairs(model):
    """PyTorch's parameter, Fourfold's name, and how Fourfold's matrix becomes the parameter's values."""
    yield model.table.weight, "table", lambda m: m
    if isinstance(model, pytorch_mini.Llama):
        yield from pairs_of_llama(model)
        return
    yield model.positions.weight, "positions", lambda m: m
    norms = [(model.norm, "final_norm")]
    for i, block in enumerate(model.blocks):
        norms += [(block.norm1, f"block{i}.norm1"), (block.norm2, f"block{i}.norm2")]
        for name in ("qkv", "projection", "up", "down"):
            linear = getattr(block, name)
            layout = (lambda m, heads=block.heads: by_part(m, heads, heads)) if name == "qkv" else lambda m: m
            yield linear.weight, f"block{i}.{name}.weight", lambda m, layout=layout: layout(m).T
            yield linear.bias, f"block{i}.{name}.bias", lambda m, layout=layout: layout(m)[0]
    for norm, name in norms:
        yield norm.weight, name, lambda m: m[0]
        yield norm.bias, name, lambda m: m[1]


def pairs_of_llama(model):
    yield model.head.weight, "head", lambda m: m
    yield model.norm.weight, "final_norm", lambda m: m[0]
    for i, block in enumerate(model.blocks):
        # Gates and what they let through stand column by column.
        layouts = {"qkv": lambda m, b=block: by_part(m, b.heads, b.key_value_heads),
                   "up": lambda m: torch.cat((m[:, 0::2], m[:, 1::2]), dim=1)}
        for name in ("qkv", "projection", "up", "down"):
            layout = layouts.get(name, lambda m: m)
            yield getattr(block, name).weight, f"block{i}.{name}.weight", lambda m, layout=layout: layout(m).T
        for name in ("norm1", "norm2"):
            yield getattr(block, name).weight, f"block{i}.{name}", lambda m: m[0]


def decays(name):
    return name in ("table", "positions", "head") or name.endswith(".weight")


def started(model, matrices):
    """The optimizer after one step, with the model's weights set."""
    groups = {True: [], False: []}
    for parameter, name, values in pairs(model):
        groups[decays(name)].append(parameter)
        parameter.data.copy_(values(matrices[name]))
    optimizer = torch.optim.AdamW([{"params": groups[True], "weight_decay": 0.1},
                                   {"params": groups[False], "weight_decay": 0.0}], betas=(0.9, 0.95))
    for parameter, name, values in pairs(model):
        optimizer.state[parameter] = {"step": torch.tensor(1.0),
                                      "exp_avg": values(matrices[name + ".m"]).clone(),
                                      "exp_avg_sq": values(matrices[name + ".v"]).clone()}
    return optimizer


def step_words(words, step, sequence):
    """What Fourfold's step reads, and what it is to say."""
    first = (step - 1) * BATCH * sequence
    flat = torch.tensor(words[first:first + BATCH * sequence + 1].tolist())
    return flat[:-1].view(BATCH, sequence), flat[1:].view(BATCH, sequence)


def pytorch(model, optimizer, batch, learning_rate):
    """Loss and gradient norm of one step."""
    tokens, targets = batch
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    loss = model(tokens, targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    # By hand: PyTorch 1.13 adds up millions of squares in fp32, and is wrong in the fourth digit.
    gradients = [parameter.grad for parameter in model.parameters()]
    norm = sum(gradient.double().square().sum().item() for gradient in gradients) ** 0.5
    for gradient in gradients:
        gradient.mul_(min(1.0, 1.0 / norm))
    optimizer.step()
    return loss.item(), norm


def part_of_way(theirs, ours, begin, name):
    """How far two weights part, as a part of the way they have gone. The bias of keys is left out: softmax
    takes no notice of it, so its gradient is rounding noise, which AdamW blows up to steps of full size."""
    if name.endswith("qkv.bias"):
        third = len(ours) // 3
        theirs, ours, begin = (torch.cat((m[:third], m[2 * third:])) for m in (theirs, ours, begin))
    return ((theirs - ours).norm() / (ours - begin).norm()).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=pytorch_mini.MODELS, default="gpt2-mini")
    parser.add_argument("--steps", type=int, default=6, help="that are compared")
    parser.add_argument("--grid", default="1x1x1x1", help="of Fourfold's ranks")
    parser.add_argument("--engine", default=os.path.join(here, "../../build/bin/fourfold-engine"))
    parser.add_argument("--tolerance", type=float, default=1e-5, help="relative, of losses and norms")
    options = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        data, run = os.path.join(folder, "words.bin"), os.path.join(folder, "run")
        model, shape = pytorch_mini.model_named(options.model)
        words = write_words(data, shape.vocabulary)
        log = fourfold(options, run, data)
        optimizer = started(model, safetensors(run, 1))
        print(f"{options.model}, fp32: Fourfold on {options.grid}, PyTorch {torch.__version__} from its first checkpoint")
        print("step   Fourfold's loss  PyTorch's loss  Fourfold's norm  PyTorch's norm")
        for line in log[1:]:
            loss, norm = pytorch(model, optimizer, step_words(words, line["step"], shape.sequence), line["learning_rate"])
            print(f"{line['step']:4}   {line['loss']:15.6f} {loss:15.6f}  {line['gradient_norm']:15.6f} {norm:15.6f}")
            worst = max(worst, abs(loss / line["loss"] - 1), abs(norm / line["gradient_norm"] - 1))
        last = safetensors(run, options.steps + 1)
        begin = safetensors(run, 1)
    apart = max(part_of_way(parameter.data, values(last[name]), values(begin[name]), name)
                for parameter, name, values in pairs(model))
    print(f"largest difference: {worst:.1e} of losses and norms; the weights part by at most {apart:.1e} of the way "
          f"they went")
    if not worst <= options.tolerance or not apart <= 100 * options.tolerance:
        sys.exit(f"same_losses.py: the two part by more than {options.tolerance:g}")


main()
