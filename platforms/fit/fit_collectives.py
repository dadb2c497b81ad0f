#!/usr/bin/env python3
"""Fits the constants of `library` (sim/cost/protocol_forms.hpp) to measured collectives.

    fit_collectives.py perlmutter_nccl.csv
    fit_collectives.py collectives.csv --where machine=Polaris --train 2,256 --vary \\
        ll_across,simple_across,ll_tree_hop,simple_tree_hop,ll_tree_fraction,simple_tree_fraction \\
        --set across_1=14.4 --set across_4=36
    fit_collectives.py collectives.csv --where machine=Sophia* --train 2 --vary \\
        base_across,simple_in_node,simple_across,ll_tree_fraction --set ll_across=3.37 \\
        --set across_1=24 --set across_8=178
    fit_collectives.py collectives_at_scale.csv --where machine=LUMI-G --without INCLUDES --without \\
        "message: skew" --vary across_1,across_8,in_node_8,simple_across --set ll_across=10 \\
        --set simple_in_node=46.7 --set across_1=10.8 --set across_8=39 --set in_node_8=100

    fit_collectives.py frontier_rccl.csv --where library=RCCL --train 1,4,16,64 --without-pieces \
        60,270 --vary across_8,in_node_8,simple_in_node,ll_fraction_across --set ll_across=10 \
        --set simple_across=35.2

A row of the CSV is a measurement as nccl-tests count it: op (or collective), nodes, gpus_per_node
(or devices_per_node, or gpus or devices in all), bytes (or whole_MB), time_us (or time_ms), and
concurrent_groups where several groups of a node ran at once. --without-pieces leaves out rows over
nodes whose ranks hold so many KiB each, from and to: RCCL on Slingshot is up to a hundred times
slower there in some jobs, and not in others. Constants are chosen on the node counts of --train alone; errors are printed for
those and for the node counts left out, by size. Constants that are not varied are NCCL's on
Perlmutter, which the first line gives. No random numbers: a file gives the same constants always.
"""
import argparse
import csv
import math

KINDS = {"allgather": 1, "reducescatter": 1, "allreduce": 2}
# As platforms/machines/perlmutter.toml has them.
CONSTANTS = {
    "base_across": 19.4, "base_in_node": 8.15, "ll_across": 6.13, "ll_in_node": 0.873,
    "ll_fraction_across": 0.113, "ll_fraction_in_node": 0.346, "ll_tree_hop": 1.76,
    "ll_tree_fraction": 0.0406, "simple_across": 26.7, "simple_in_node": 12.2,
    "simple_tree_hop": 1.67, "simple_tree_fraction": 0.815, "simple_ring_base": 2.48,
    "ll_exponent": 0.381, "overlap_exponent": 1.52}
SIZES = [("below 1 MiB", 0, 1 << 20), ("1 to 64 MiB", 1 << 20, 1 << 26),
         ("64 MiB and above", 1 << 26, 1 << 60)]


def op_of(cells):
    return (cells.get("op") or cells["collective"]).replace("_", "").replace("-", "")


class Row:
    def __init__(self, cells):
        self.op = op_of(cells)
        self.nodes = int(cells["nodes"])
        per_node = cells.get("gpus_per_node") or cells.get("devices_per_node")
        in_all = cells.get("gpus") or cells.get("devices")
        self.in_node = int(per_node) if per_node else int(in_all) // self.nodes
        self.bytes = int(cells.get("bytes") or 1e6 * float(cells["whole_MB"]))
        self.time = float(cells.get("time_us") or 1e3 * float(cells["time_ms"]))
        self.groups = int(cells.get("concurrent_groups") or 1)


def fits(value, wanted):
    return value.startswith(wanted[:-1]) if wanted.endswith("*") else value == wanted


def read(path, where, without):
    rows = []
    with open(path, encoding="utf-8") as lines:
        for cells in csv.DictReader(line for line in lines if not line.startswith("#")):
            note = cells.get("note") or cells.get("notes") or ""
            measured = ((cells.get("time_us") or cells.get("time_ms")) and
                        (cells.get("bytes") or cells.get("whole_MB")))
            if (op_of(cells) in KINDS and measured and
                    all(fits(cells[k], v) for k, v in where.items()) and
                    not any(word in note for word in without)):
                rows.append(Row(cells))
    return rows


def plateaus(rows):
    """GB/s at 1 GiB and above, the median by members in a node."""
    found = {}
    for r in rows:
        n = r.nodes * r.in_node
        if r.bytes >= 1 << 30 and r.groups == 1:
            key = f"{'across' if r.nodes > 1 else 'in_node'}_{r.in_node}"
            found.setdefault(key, []).append(KINDS[r.op] * (n - 1) / n * r.bytes / r.time / 1e3)
    return {key: sorted(v)[len(v) // 2] for key, v in found.items()}


def overlapped(a, b, q):
    longer, shorter = max(a, b), min(a, b)
    return longer * (1.0 + (shorter / longer) ** q) ** (1.0 / q) if shorter > 0.0 else longer


def microseconds(c, r):
    n, k, across = r.nodes * r.in_node, KINDS[r.op], r.nodes > 1
    base = c["base_across"] if across else c["base_in_node"]
    h_across, h_in = r.nodes - 1, n - r.nodes
    load = k * (n - 1) / n * r.bytes
    if across:
        node = max(int(key[7:]) for key in c if key.startswith("across_"))
        whole = c[f"across_{node}"]
        rate = c[f"across_{r.in_node}"]
        if r.groups > 1:
            rate = min(rate, whole * r.in_node / node)
        flagged = c["ll_fraction_across"] * whole * (rate / whole) ** c["ll_exponent"]
    else:
        rate = c[f"in_node_{r.in_node}"]
        flagged = c["ll_fraction_in_node"] * rate
    hops = {wire: k * (h_across * c[wire + "_across"] + h_in * c[wire + "_in_node"])
            for wire in ("ll", "simple")}
    times = [base + hops["ll"] + load / (flagged * 1e3),
             base * c["simple_ring_base"] +
             overlapped(hops["simple"], load / (rate * 1e3), c["overlap_exponent"])]
    if k == 2 and across:
        depth = 2 * math.ceil(math.log2(r.nodes))
        inside = 2 * (r.in_node - 1) * c["ll_in_node"]
        for wire in ("ll", "simple"):
            times.append(base + depth * c[wire + "_tree_hop"] * c[wire + "_across"] + inside +
                         2 * r.bytes / (c[wire + "_tree_fraction"] * rate * 1e3))
    return min(times)


def loss(c, rows):
    if min(c.values()) <= 0.0 or c["overlap_exponent"] < 1.0:
        return 1e9
    return sum(abs(math.log(microseconds(c, r) / r.time)) for r in rows) / len(rows)


def descend(c, names, rows, rounds=60):
    """Coordinate descent in the logarithm, with steps that shrink: slow, plain, deterministic."""
    best, value = dict(c), loss(c, rows)
    step = dict.fromkeys(names, 0.2)
    for _ in range(rounds):
        for name in names:
            moved = False
            for factor in (1.0 + step[name], 1.0 / (1.0 + step[name])):
                trial = dict(best)
                trial[name] *= factor
                tried = loss(trial, rows)
                if tried < value:
                    best, value, moved = trial, tried, True
                    break
            step[name] *= 1.3 if moved else 0.6
        if max(step.values()) < 1e-4:
            break
    return best


def report(title, c, rows):
    for name, low, high in SIZES:
        errors = [microseconds(c, r) / r.time - 1.0 for r in rows if low <= r.bytes < high]
        if errors:
            print(f"{title:10} {name:18} {len(errors):4} rows  mean error "
                  f"{100 * sum(map(abs, errors)) / len(errors):5.1f} %  bias "
                  f"{100 * sum(errors) / len(errors):+6.1f} %  worst "
                  f"{100 * max(errors, key=abs):+6.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements")
    parser.add_argument("--train", default="1,4,16")
    parser.add_argument("--vary", default=",".join(CONSTANTS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE")
    parser.add_argument("--without-pieces", default="0,0", metavar="FROM,TO")
    parser.add_argument("--without", action="append", default=[], metavar="TEXT")
    args = parser.parse_args()
    rows = read(args.measurements, dict(w.split("=", 1) for w in args.where), args.without)
    low, high = (1024 * float(k) for k in args.without_pieces.split(","))
    rows = [r for r in rows
            if r.nodes == 1 or not low <= r.bytes / (r.nodes * r.in_node) <= high]
    chosen = {int(n) for n in args.train.split(",")}
    train = [r for r in rows if r.nodes in chosen]
    c = CONSTANTS | plateaus(train) | {n: float(v) for n, v in (s.split("=") for s in args.set)}
    names = args.vary.split(",")
    c = descend(c, names, train)
    for name in names + [n for n in c if n not in CONSTANTS and n not in names]:
        print(f"{name} {c[name]:.4g}")
    report("chosen on", c, train)
    report("left out", c, [r for r in rows if r.nodes not in chosen])


if __name__ == "__main__":
    main()
