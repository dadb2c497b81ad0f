"""Reads traces for Perfetto: on every thread of every process, no two complete events cross."""
import json
import sys


def crossing(path):
    tracks = {}
    for event in json.load(open(path))["traceEvents"]:
        if event["ph"] == "X":
            start = round(1000 * event["ts"])
            end = start + round(1000 * event["dur"])
            tracks.setdefault((event["pid"], event["tid"]), []).append((start, -end, event["name"]))
    assert tracks, f"{path} has no events"
    for track, events in tracks.items():
        around = []
        for start, end, name in sorted(events):
            while around and -around[-1][1] <= start:
                around.pop()
            if around and -end > -around[-1][1]:
                return f"{path}: on track {track}, {name} at {start} ns crosses {around[-1][2]}"
            around.append((start, end, name))
    return None


said = [sentence for sentence in map(crossing, sys.argv[1:]) if sentence]
sys.exit("\n".join(said) if said else 0)
