"""Reads traces for Perfetto: on every thread of every process, no two complete events cross, neither
in whole nanoseconds nor as the numbers are added as they stand."""
import json
import sys


def crossing(path, stamp):
    tracks = {}
    for event in json.load(open(path))["traceEvents"]:
        if event["ph"] == "X":
            start = stamp(event["ts"])
            end = start + stamp(event["dur"])
            tracks.setdefault((event["pid"], event["tid"]), []).append((start, -end, event["name"]))
    assert tracks, f"{path} has no events"
    for track, events in tracks.items():
        around = []
        for start, end, name in sorted(events):
            while around and -around[-1][1] <= start:
                around.pop()
            if around and -end > -around[-1][1]:
                return f"{path}: on track {track}, {name} at {start} crosses {around[-1][2]}"
            around.append((start, end, name))
    return None


stamps = [lambda us: round(1000 * us), float]
said = [sentence for path in sys.argv[1:] for stamp in stamps if (sentence := crossing(path, stamp))]
sys.exit("\n".join(said) if said else 0)
