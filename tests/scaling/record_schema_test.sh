#!/usr/bin/env bash
# docs/record.schema.json against records of every kind: estimated, simulated, with what-ifs, of a
# pipeline, of a system, measured; and it refuses what is none. Advice and collectives have schemas, too.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
for python in python3 /usr/bin/python3; do  # the first may be another than Debian's, which packages.txt has
  "$python" -c 'import jsonschema' 2>/dev/null && break
  python=
done
[ -n "$python" ] || fail "no python3 here has jsonschema; install python3-jsonschema"
export FOURFOLD_PLATFORMS=${FOURFOLD_SOURCE_DIR:?}/tests/machines
cd "$folder"

project() { "$fourfold" project --model gpt-5b --batch-tokens 262144 --json "$@" >>records.jsonl 2>>said || fail "$(cat said)"; }
project --platform crossbar --devices 16 --fidelity estimated
project --platform dragonfly --devices 16 --at-most-grids 1
project --platform dragonfly --grid 2x2x2x2 --micro-batches 1 --jitter 1% --slow-devices 1:0.5
project --platform torus --grid x=2,data=2,pipe=4 --micro-batches 4 --zero 1 --fidelity estimated
project --platform fat-tree-3 --devices 16 --system megatron-lm-2021 --fidelity estimated
project --platform dragonfly --grid 2x2x2x2 --micro-batches 1 --explain
project --platform crossbar --grid 2x2x2x2 --micro-batches 1 --fidelity estimated --scale "devices=?" --step-seconds 20
one_point study.toml estimated 131_072 crossbar 'devices = 16, model = "gpt-5b"'
"$fourfold" campaign run study.toml --output out >/dev/null 2>&1
cat out/records.jsonl >>records.jsonl
printf 'layers = 1\nhidden = 32\nheads = 2\nsequence_tokens = 32\nvocabulary = 256\n' >tiny.toml
for i in $(seq 300); do echo "a line of text, the $i th of them"; done >text.txt
cat >measured.toml <<'TOML'
title = "One point, trained"
batch_tokens = 64
fidelity = "measured"
measure = { steps = 4, data = "text.txt" }
[[machine]]
platform = "crossbar"
points = [{ devices = 2, model = "tiny.toml", grid = "1x1x1x2" }]
TOML
"$fourfold" campaign run measured.toml --output trained >/dev/null 2>said || fail "$(cat said)"
cat trained/records.jsonl >>records.jsonl

"$python" - "$FOURFOLD_SOURCE_DIR/docs/record.schema.json" <<'PY'
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
check = jsonschema.Draft7Validator(schema)
records = [json.loads(line) for line in open("records.jsonl")]
assert len(records) == 11 and "digest" in records[-1]
assert {one["fidelity"] for one in records} == {"estimated", "simulated", "measured"}
for record in records:
    for error in check.iter_errors(record):
        sys.exit(f"{list(error.path)}: {error.message[:300]}")
for key in schema["required"] + schema["else"]["required"]:
    assert not check.is_valid({other: records[0][other] for other in records[0] if other != key}), key
measured = next(one for one in records if one["fidelity"] == "measured")
assert not check.is_valid({key: value for key, value in measured.items() if key != "measured"})
assert not check.is_valid(dict(measured, estimated_s=1.0))
assert not check.is_valid(dict(records[0], measured=measured["measured"]))
assert not check.is_valid(dict(records[0], memory_GB=1))
PY
cp "$FOURFOLD_PLATFORMS/dragonfly.toml" failing.toml
cat >>failing.toml <<'TOML'
[operation]
node_power_W = { value = 2000, source = "made up" }
node_failures_per_day = { value = 0.01, source = "made up" }
file_system_write_GBps = { value = 100, source = "made up" }
TOML
for platform in dragonfly ./failing.toml; do
  "$fourfold" advise --platform $platform --model gpt-5b --devices 16..64 --tokens 200B --json 2>>said >>advice.jsonl
done
"$fourfold" collectives --platform dragonfly --devices 16 --json >collectives.jsonl
for verb in project search; do
  "$fourfold" $verb --platform dragonfly --model gpt-640b --devices 16 --json 2>>said >>shortage.jsonl && fail "$verb fits"
done
"$fourfold" project --platform dragonfly --model gpt-20b --grid 1x1x1x16 --json 2>>said >>shortage.jsonl && fail "it fits"
"$python" - "$FOURFOLD_SOURCE_DIR/docs" <<'PY'
import json, sys, jsonschema
names = ("record", "advice", "collectives", "shortage")
schemas = {name: json.load(open(f"{sys.argv[1]}/{name}.schema.json")) for name in names}
checks = {name: jsonschema.Draft7Validator(schema) for name, schema in schemas.items()}
for name in names[1:]:
    answers = [json.loads(line) for line in open(f"{name}.jsonl")]
    assert answers
    for answer in answers:
        checks[name].validate(answer)
        assert set(answer) == set(schemas[name]["properties"]), set(answer) ^ set(schemas[name]["properties"])
        assert not checks[name].is_valid({key: answer[key] for key in list(answer)[1:]})
        for option in answer.get("options", []):
            checks["record"].validate(option["record"])
PY
for key in $(python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["properties"])' "$FOURFOLD_SOURCE_DIR/docs/record.schema.json"); do
  grep -q "\`$key\`" "$FOURFOLD_SOURCE_DIR/docs/records.md" || fail "docs/records.md lacks $key"
done
echo "records are as their schema says"
