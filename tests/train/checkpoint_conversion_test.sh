#!/usr/bin/env bash
# A GPT-2 and two Llamas in Hugging Face's layout come in, say what they say elsewhere, are trained on any
# grid, and go out again with every tensor's bits; what is damaged is refused in one sentence.
set -euo pipefail

fourfold=$FOURFOLD_BIN_DIR/fourfold
by_hand="python3 $FOURFOLD_SOURCE_DIR/tests/train/foreign_models.py"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

# expect_refusal WORDS COMMAND...
expect_refusal() {
  local status=0 text
  text=$("${@:2}" 2>&1) || status=$?
  [[ $status != 0 ]] || fail "not refused: ${*:2}"
  [[ $text == *"$1"* ]] || fail "'$1' is not in: $text"
  [[ $(wc -l <<<"$text") == 1 ]] || fail "more than one line: $text"
}

# types_of FOLDER: every tensor's type and shape.
types_of() {
  python3 - "$1" <<'P'
import json, pathlib, struct, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors")):
    raw = path.read_bytes()
    n, = struct.unpack("<Q", raw[:8])
    for name, entry in json.loads(raw[8:8 + n]).items():
        if "shape" in entry and not name.endswith((".attn.bias", ".inv_freq")):
            print(name, entry["dtype"], entry["shape"])
P
}

# expect_shards FOLDER BYTES: a file of several tensors holds no more, and no two neighbours fit one.
expect_shards() {
  python3 - "$@" <<'P' || fail "files of $1"
import json, pathlib, struct, sys
sizes, counts = [], []
for path in sorted(pathlib.Path(sys.argv[1]).glob("model-*.safetensors")):
    raw = path.read_bytes()
    n, = struct.unpack("<Q", raw[:8])
    sizes.append(len(raw) - 8 - n)
    counts.append(len(json.loads(raw[8:8 + n])) - 1)
limit = int(sys.argv[2])
assert len(sizes) > 2 and max(counts) > 1, counts
assert all(size <= limit for size, count in zip(sizes, counts) if count > 1), sizes
assert all(a + b > limit for a, b in zip(sizes, sizes[1:])), sizes
P
}

# expect_carried FOLDER OTHER...: what is no weight is there, byte by byte.
expect_carried() {
  local given=$1 name other
  shift
  for other in "$@"; do
    for name in tokenizer.json tokenizer.model generation_config.json config.json; do
      cmp "$given/$name" "$other/$name" || fail "$other/$name"
    done
  done
}

# without_buffers FOLDER: its files without the tensors that are no weights.
without_buffers() {
  python3 - "$1" <<'P'
import json, pathlib, struct, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors")):
    raw = path.read_bytes()
    n, = struct.unpack("<Q", raw[:8])
    head, data, out = json.loads(raw[8:8 + n]), b"", {}
    for name, entry in head.items():
        if name == "__metadata__" or name.endswith((".attn.bias", ".inv_freq")):
            continue
        begin, end = entry["data_offsets"]
        out[name] = {**entry, "data_offsets": [len(data), len(data) + end - begin]}
        data += raw[8 + n + begin:8 + n + end]
    text = json.dumps(out).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
index = pathlib.Path(sys.argv[1]) / "model.safetensors.index.json"
if index.exists():
    said = json.loads(index.read_text())
    said["weight_map"] = {k: v for k, v in said["weight_map"].items()
                          if not k.endswith((".attn.bias", ".inv_freq"))}
    index.write_text(json.dumps(said))
P
}

# config_says FOLDER KEY: of its config.json.
config_says() {
  python3 -c 'import json, sys
print(json.load(open(sys.argv[1] + "/config.json")).get(sys.argv[2], "nothing"))' "$@"
}

python3 -c 'import random; r = random.Random(1)
open("words.bin", "wb").write(b"".join(r.randrange(50).to_bytes(2, "little") for _ in range(3000)))'

for kind in gpt2 llama llama-tied; do
  mkdir $kind
  for files in 1 3; do
    given=$kind/given-$files ours=$kind/ours-$files
    $by_hand make $kind $given $files
    printf '{"model": {"vocab": {}}}' >$given/tokenizer.json
    printf '\0any bytes\r\n' >$given/tokenizer.model
    printf '{"eos_token_id": [7, 49, 50]}' >$given/generation_config.json
    "$fourfold" checkpoint import $given $ours >/dev/null

    # Comes in and goes out: other files, the same bits.
    "$fourfold" checkpoint export $ours $kind/back-$files >/dev/null
    $by_hand same $given $kind/back-$files
    "$fourfold" checkpoint export $ours $kind/small-$files --shard-GB 0.000005 >/dev/null
    [[ -f $kind/small-$files/model.safetensors.index.json ]] || fail "there is no index"
    $by_hand same $given $kind/small-$files
    expect_shards $kind/small-$files 5000
    expect_carried $given $kind/back-$files $kind/small-$files
  done
  # Without what is no weight, all files are the same to the last byte.
  for files in 1 3; do
    cp -r $kind/given-$files $kind/bare-$files
    without_buffers $kind/bare-$files
    "$fourfold" checkpoint import $kind/bare-$files $kind/bare-ours-$files >/dev/null
    "$fourfold" checkpoint export $kind/bare-ours-$files $kind/bare-back-$files >/dev/null
    diff -r $kind/bare-$files $kind/bare-back-$files || fail "$kind in $files files comes out otherwise"
  done

  # Says what the model says when it is computed by hand.
  expected=$($by_hand draw $kind/given-3 7)
  case $kind in  # between them on every number of ranks, with stages where the table is on both ends
    gpt2) grids="1x1x1x1 2x1x1x2 x=2,z=2,pipe=2" trained="1x2x1x1 2x1x1x2" ;;
    llama) grids="1x1x1x1 1x2x1x1 2x1x1x2" trained="1x2x1x1 x=2,z=2,pipe=2" ;;
    llama-tied) grids="2x1x1x1 x=2,z=2,pipe=2" trained="2x1x1x2 x=2,pipe=2" ;;
  esac
  for grid in $grids; do
    drawn=$("$fourfold" sample --checkpoint $kind/ours-3 --grid $grid --prompt '1 2 3' --tokens 7 \
      --temperature 0 --json --logits 2>/dev/null)
    [[ $drawn == *"\"text\":\"$expected\""* ]] || fail "$kind: by hand $expected, on $grid $drawn"
    $by_hand near $kind/given-3 "$drawn" || fail "$kind: logits on $grid"
  done

  # Is trained as it is, on grids of 2, 4 or 8 ranks; what comes out has the types of what came in.
  for grid in $trained; do
    "$fourfold" train --start-from $kind/ours-3 --data words.bin --grid $grid --batch 4 --steps 2 \
      --tokens 0 --folder $kind/run-$grid >/dev/null 2>&1 || fail "training $kind on $grid"
    "$fourfold" checkpoint export $kind/run-$grid $kind/trained-$grid >/dev/null
    [[ $(types_of $kind/trained-$grid | sort) == "$(types_of $kind/given-3 | sort)" ]] ||
      fail "types after training on $grid"
    expect_carried $kind/given-3 $kind/trained-$grid
    ! $by_hand same $kind/given-3 $kind/trained-$grid 2>/dev/null || fail "training has changed nothing on $grid"
  done
done

# A Llama whose sequences are shorter here is the same Llama there.
"$fourfold" checkpoint import llama/given-1 shorter --sequence 8 >/dev/null
"$fourfold" checkpoint export shorter shorter-back >/dev/null
$by_hand same llama/given-1 shorter-back
cmp <(python3 -m json.tool --sort-keys llama/given-1/config.json) \
  <(python3 -m json.tool --sort-keys shorter-back/config.json) || fail "config.json has changed"

# What was made here goes there, and comes back as it was.
for block in 'norm = "layer"' 'norm = "rms"
position = "rotary"
key_value_heads = 2
mlp = "swiglu"
biases = false
embeddings = "untied"'; do
  rm -rf made*
  printf 'layers = 1\nhidden = 16\nheads = 4\nsequence_tokens = 8\nvocabulary = 50\n%s\n' "$block" >made.toml
  "$fourfold" train --model made.toml --data words.bin --batch 2 --steps 1 --tokens 0 --folder made \
    >/dev/null 2>&1 || fail "training a model of $block"
  "$fourfold" checkpoint export made made-there >/dev/null
  "$fourfold" checkpoint import made-there made-back >/dev/null
  "$fourfold" checkpoint export made-back made-again >/dev/null
  $by_hand same made-there made-again
  grep -q '"name": "made"' made-back/step-00000000.json || fail "the model's name is lost"
  [[ -f made-there/generation_config.json ]] || fail "nothing says that no word ends a text"
  "$fourfold" checkpoint export made made-rounded --type bf16 >/dev/null
  [[ $(types_of made-rounded | grep -vc BF16) == 0 ]] || fail "not all is bf16"
  [[ $(config_says made-rounded torch_dtype) == bfloat16 ]] || fail "config.json does not say bf16"
  [[ $(config_says made-there torch_dtype) == float32 ]] || fail "config.json does not say fp32"
  [[ $(config_says made-there vocab_size) == 50 ]] || fail "config.json does not say the vocabulary"
  [[ $(config_says made-there eos_token_id) == None ]] || fail "config.json says an end word of nobody"
done

# The end words of an imported model end a text; what was carried along and is lost is named.
[[ $("$fourfold" checkpoint import gpt2/given-1 ended) == *"its end words 50 are none of its 50 words"* ]] ||
  fail "an import takes an end word beyond the vocabulary"
said=$("$fourfold" sample --checkpoint gpt2/run-1x2x1x1 --prompt 1 --tokens 40 --json 2>/dev/null)
[[ $said == *'"end_words":[7,49]'* ]] || fail "the end words are lost: $said"
for type in fp32 bf16 fp16; do
  "$fourfold" checkpoint export ended ended-$type --type $type >/dev/null
  case $type in fp32) word=float32 ;; bf16) word=bfloat16 ;; fp16) word=float16 ;; esac
  [[ $(config_says ended-$type torch_dtype) == "$word" ]] || fail "config.json does not say $word"
done
rm ended/carried/tokenizer.model
[[ $("$fourfold" checkpoint export ended ended-back) == *"tokenizer.model came with the model"* ]] ||
  fail "an export does not say what is lost"
[[ ! -e ended-back/tokenizer.model && -e ended-back/tokenizer.json ]] || fail "what is left is carried along"
cp -r gpt2/given-1 linked && ln -sf /etc/passwd linked/merges.txt
expect_refusal "linked/merges.txt is a link, which is not followed" "$fourfold" checkpoint import linked there

# A model of bytes has a tokenizer of bytes, and its end word is a zero byte.
sed 's/vocabulary = 50/vocabulary = 256/' made.toml >letters.toml
printf 'a text of bytes, not of tokens%.0s' {1..100} >letters.txt
"$fourfold" train --model letters.toml --data letters.txt --batch 2 --steps 1 --tokens 0 --folder letters \
  >/dev/null 2>&1 || fail "training a model of bytes"
"$fourfold" checkpoint export letters letters-there >/dev/null
[[ $(config_says letters-there eos_token_id) == 0 ]] || fail "a model of bytes does not say its end word"
python3 - letters-there/tokenizer.json <<'P' || fail "the vocabulary of bytes"
import json, sys
vocabulary = json.load(open(sys.argv[1]))["model"]["vocab"]
assert sorted(vocabulary.values()) == list(range(256)), vocabulary
assert vocabulary["A"] == 65 and vocabulary["\u0120"] == 32 and vocabulary["\u010a"] == 10, vocabulary
P
"$fourfold" checkpoint import letters-there letters-back >/dev/null
"$fourfold" checkpoint export letters-back letters-again >/dev/null
diff -r letters-there letters-again || fail "a model of bytes comes back otherwise"

# A head that repeats the embedding stays, in the type that is asked for.
cp -r llama-tied/given-1 repeated
python3 - repeated/model.safetensors <<'PYTHON'
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head, data = json.loads(raw[8:8 + n]), raw[8 + n:]
embedding = head["model.embed_tokens.weight"]
begin, end = embedding["data_offsets"]
head["lm_head.weight"] = {**embedding, "data_offsets": [len(data), len(data) + end - begin]}
text = json.dumps(head).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + data + data[begin:end])
PYTHON
"$fourfold" checkpoint import repeated repeated-ours >/dev/null
"$fourfold" checkpoint export repeated-ours repeated-back >/dev/null
$by_hand same repeated repeated-back
"$fourfold" checkpoint export repeated-ours repeated-rounded --type bf16 >/dev/null
[[ $(types_of repeated-rounded | grep -c lm_head.weight) == 1 ]] || fail "the head is lost"
[[ $(types_of repeated-rounded | grep -vc BF16) == 0 ]] || fail "not all is bf16, with a head"

# What cannot be taken.
expect_refusal "holds checkpoints already" "$fourfold" checkpoint import gpt2/given-1 gpt2/ours-1
expect_refusal "is not empty" "$fourfold" checkpoint export gpt2/ours-1 gpt2/given-1
expect_refusal "cannot read nowhere/config.json" "$fourfold" checkpoint import nowhere there
cp -r gpt2/given-1 damaged && printf 'x' | dd of=damaged/model.safetensors bs=1 seek=20 conv=notrunc 2>/dev/null
expect_refusal "safetensors" "$fourfold" checkpoint import damaged there
cp -r gpt2/given-3 lacking && rm lacking/model-00002-of-00003.safetensors
expect_refusal "cannot read lacking/model-00002-of-00003.safetensors" "$fourfold" checkpoint import lacking there
cp -r llama/given-1 strange && python3 - <<'P'
import json, struct
raw = open("strange/model.safetensors", "rb").read()
n, = struct.unpack("<Q", raw[:8])
head = raw[8:8 + n].replace(b"model.layers.1.mlp.up_proj.weight", b"model.layers.9.mlp.up_proj.weight")
open("strange/model.safetensors", "wb").write(raw[:8] + head + raw[8 + n:])
P
expect_refusal "strange does not hold model.layers.1.mlp.up_proj.weight" "$fourfold" checkpoint import strange there
cp -r llama/given-3 twice && cp twice/model-0000{2,3}-of-00003.safetensors 2>/dev/null
expect_refusal "both hold" "$fourfold" checkpoint import twice there
expect_refusal "--sequence 99 cannot be used" "$fourfold" checkpoint import llama/given-1 there --sequence 99
expect_refusal "has learnt each" "$fourfold" checkpoint import gpt2/given-1 there --sequence 8
printf 'a text of bytes, not of tokens%.0s' {1..100} >bytes.txt
expect_refusal "the words of llama/ours-1 are tokens, and those of bytes.txt are bytes" \
  "$fourfold" train --start-from llama/ours-1 --data bytes.txt --batch 4 --steps 1 --folder no
expect_refusal "are tokens, and those of bytes.txt are bytes; give --data FILE.bin" \
  "$fourfold" train --resume llama/run-1x2x1x1 --data bytes.txt --batch 4 --steps 9 --folder no
printf 'layers = 1\nhidden = 16\nheads = 4\nsequence_tokens = 8\nvocabulary = 50\nnorm = "rms"\n' >odd.toml
"$fourfold" train --model odd.toml --data words.bin --batch 2 --steps 1 --tokens 0 --folder odd >/dev/null 2>&1 ||
  fail "training a GPT with RMS norms"
expect_refusal "is neither a GPT-2 nor a Llama" "$fourfold" checkpoint export odd there
expect_refusal "has no optimizer's state" "$fourfold" train --resume gpt2/ours-1 --data words.bin --steps 3 \
  --batch 4 --folder no

# set_number FOLDER NAME BITS: the first number of a tensor of fp32.
set_number() {
  python3 - "$@" <<'P'
import json, struct, sys
path = sys.argv[1] + "/model.safetensors"
raw = bytearray(open(path, "rb").read())
n, = struct.unpack("<Q", raw[:8])
place = 8 + n + json.loads(raw[8:8 + n])[sys.argv[2]]["data_offsets"][0]
raw[place:place + 4] = int(sys.argv[3], 16).to_bytes(4, "little")
open(path, "wb").write(raw)
P
}
"$fourfold" checkpoint export made made-wide >/dev/null
for damage in nan:7fc00000 inf:7f800000; do
  set_number made-wide model.norm.weight ${damage#*:}
  expect_refusal "model.norm.weight has a number that is ${damage%:*}" \
    "$fourfold" checkpoint import made-wide there
done

# Nobody writes down whether 256 words are bytes: it is said what they are taken for.
sed -i 's/vocabulary = 50/vocabulary = 256/' made.toml
"$fourfold" train --model made.toml --data words.bin --batch 2 --steps 1 --tokens 0 --folder wide >/dev/null 2>&1 ||
  fail "training a model of 256 tokens"
"$fourfold" checkpoint export wide wide-there >/dev/null
[[ $("$fourfold" checkpoint import wide-there wide-bytes) == *"taken for bytes, as there are 256 (--words "* ]] ||
  fail "an import does not say what it takes words for"
expect_refusal "the words of wide-bytes are bytes, and those of words.bin are tokens; give --data FILE.txt" \
  "$fourfold" train --start-from wide-bytes --data words.bin --batch 4 --steps 1 --folder no
[[ $("$fourfold" checkpoint import wide-there wide-tokens --words tokens) != *"taken for"* ]] ||
  fail "an import says what it was told"
"$fourfold" train --start-from wide-tokens --data words.bin --batch 4 --steps 1 --tokens 0 --folder wide-run \
  >/dev/null 2>&1 || fail "256 tokens cannot be trained"
expect_refusal "--words" "$fourfold" checkpoint import wide-there there --words letters

# Files that contradict each other or themselves.
cp -r llama/given-3 both && cp llama/given-1/model.safetensors both
expect_refusal "does not speak of both/model.safetensors" "$fourfold" checkpoint import both there

# A config.json that is edited; what is wrong with its files and their index is in foreign_folders_test.
while IFS='|' read -r given statement sentence; do
  rm -rf edited && cp -r "$given/given-1" edited
  python3 -c 'import json, sys
j = json.load(open("edited/config.json"))
exec(sys.argv[1])
json.dump(j, open("edited/config.json", "w"))' "$statement"
  expect_refusal "$sentence" "$fourfold" checkpoint import edited there
done <<'EDITS'
gpt2|j["model_type"] = "bert"|model_type "bert"; known: "gpt2"
gpt2|j["n_positions"] = 13|wpe.weight as 12 x 16, and config.json asks for 13 x 16
gpt2|j["activation_function"] = "relu"|activation_function "relu"
llama|j["num_hidden_layers"] = 1|holds model.layers.1.input_layernorm.weight, which no llama of this config.json has
llama|j["num_key_value_heads"] = 4|self_attn.k_proj.weight as 16 x 16, and config.json asks for 32 x 16
llama|j["tie_word_embeddings"] = True|holds an lm_head.weight other than the embedding
llama|j["mlp_bias"] = True|has biases in the MLP alone, and only none is known
llama|j["partial_rotary_factor"] = 0.5|has partial_rotary_factor 0.5
llama|j["quantization_config"] = {"bits": 4}|has a quantization_config
llama|(j.get("rope_parameters") or j["rope_scaling"])["rope_type"] = "yarn"|has rope_type "yarn", and only "default" or "llama3" is known
llama|j.pop("rope_parameters", 0); j["rope_scaling"] = True|rope_scaling true, which is no table
llama|j.pop("rope_parameters", 0); j["rope_scaling"] = {"rope_type": "llama3"}|by "llama3" without its factor
EDITS
expect_refusal "--sequence" "$fourfold" checkpoint import llama/given-1 there --sequence 0
text=$("$fourfold" checkpoint import llama/given-1 there --sequence 0 2>&1) || true
[[ ${#text} -lt 120 ]] || fail "a sentence with endless digits: $text"
expect_refusal "--shard-GB" "$fourfold" checkpoint export llama/ours-1 there --shard-GB nan
[[ ! -e there ]] || fail "a refused import has left something"
