#!/usr/bin/env bash
# A GPT-2 and two Llamas in Hugging Face's layout come in, say what they say elsewhere, are trained on any
# grid, and go out again with every tensor's bits; what is damaged is refused in one sentence.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
by_hand="python3 $FOURFOLD_SOURCE_DIR/tests/train/foreign_models.py"
import="$fourfold checkpoint import"
export="$fourfold checkpoint export"

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

# config_says FOLDER KEY VALUE
config_says() {
  python3 -c 'import json, sys
sys.exit(str(json.load(open(sys.argv[1] + "/config.json")).get(sys.argv[2], "nothing")) != sys.argv[3])' "$@" ||
    fail "$1/config.json does not say that $2 is $3"
}

# trained FOLDER ARGUMENTS...
trained() {
  "$fourfold" train --batch 4 --tokens 0 --folder "$@" >train.out 2>&1 || fail "training in $1: $?"
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
    $import $given $ours >/dev/null

    # Comes in and goes out: other files, the same bits; in another type, all of them.
    $export $ours $kind/back-$files >/dev/null
    $export $ours $kind/small-$files --shard-GB 0.000005 >/dev/null
    for back in back small; do $by_hand same $given $kind/$back-$files; done
    [[ -f $kind/small-$files/model.safetensors.index.json ]] || fail "there is no index"
    expect_carried $given $kind/back-$files $kind/small-$files
    $export $ours $kind/rounded-$files --type bf16 >/dev/null
    [[ $($by_hand types $kind/rounded-$files | grep -vc BF16) == 0 ]] || fail "not all of $kind is bf16"
    config_says $kind/rounded-$files torch_dtype bfloat16
  done

  # Says what the model says when it is computed by hand.
  expected=$($by_hand draw $kind/given-3 7)
  case $kind in  # between them on every number of ranks, with stages where the table is on both ends
    gpt2) grids="1x1x1x1 2x1x1x2 x=2,z=2,pipe=2" on="1x2x1x1 2x1x1x2" ;;
    llama) grids="1x1x1x1 1x2x1x1 2x1x1x2" on="1x2x1x1 x=2,z=2,pipe=2" ;;
    llama-tied) grids="2x1x1x1 x=2,z=2,pipe=2" on="2x1x1x2 x=2,pipe=2" ;;
  esac
  for grid in $grids; do
    drawn=$("$fourfold" sample --checkpoint $kind/ours-3 --grid $grid --prompt '1 2 3' --tokens 7 \
      --temperature 0 --json --logits 2>/dev/null)
    [[ $drawn == *"\"text\":\"$expected\""* ]] || fail "$kind: by hand $expected, on $grid $drawn"
    $by_hand near $kind/given-3 "$drawn" || fail "$kind: logits on $grid"
  done

  # Is trained as it is, on grids of 2, 4 or 8 ranks; what comes out has the types of what came in.
  for grid in $on; do
    trained $kind/run-$grid --start-from $kind/ours-3 --data words.bin --grid $grid --steps 2
    $export $kind/run-$grid $kind/trained-$grid >/dev/null
    [[ $($by_hand types $kind/trained-$grid) == "$($by_hand types $kind/given-3)" ]] || fail "types after training on $grid"
    expect_carried $kind/given-3 $kind/trained-$grid
    ! $by_hand same $kind/given-3 $kind/trained-$grid 2>/dev/null || fail "training has changed nothing on $grid"
  done
done

# A Llama whose sequences are shorter here is the same Llama there.
$import llama/given-1 shorter --sequence 8 >/dev/null
$export shorter shorter-back >/dev/null
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
  trained made --model made.toml --data words.bin --steps 1
  $export made made-there >/dev/null
  $import made-there made-back >/dev/null
  $export made-back made-again >/dev/null
  $by_hand same made-there made-again
  grep -q '"name": "made"' made-back/step-00000000.json || fail "the model's name is lost"
  [[ -f made-there/generation_config.json ]] || fail "nothing says that no word ends a text"
  config_says made-there torch_dtype float32
  config_says made-there vocab_size 50
  config_says made-there eos_token_id None
done

# The end words of an imported model end a text; what was carried along and is lost is named.
[[ $($import gpt2/given-1 ended) == *"its end words 50 are none of its 50 words"* ]] ||
  fail "an import takes an end word beyond the vocabulary"
said=$("$fourfold" sample --checkpoint gpt2/run-1x2x1x1 --prompt 1 --tokens 40 --json 2>/dev/null)
[[ $said == *'"end_words":[7,49]'* ]] || fail "the end words are lost: $said"
rm ended/carried/tokenizer.model
[[ $($export ended ended-back) == *"tokenizer.model came with the model"* ]] || fail "an export does not say what is lost"
[[ ! -e ended-back/tokenizer.model && -e ended-back/tokenizer.json ]] || fail "what is left is carried along"

# What cannot be taken. What is wrong within files and their index is in foreign_folders_test.cpp.
here="checkpoint import" there="checkpoint export" none="--steps 9 --batch 4 --folder no"
printf 'a text of bytes, not of tokens%.0s' {1..100} >bytes.txt
cp -r gpt2/given-3 lacking && rm lacking/model-00002-of-00003.safetensors
cp -r llama/given-3 twice && cp twice/model-0000{2,3}-of-00003.safetensors
cp -r llama/given-3 both && cp llama/given-1/model.safetensors both
printf 'layers = 1\nhidden = 16\nheads = 4\nsequence_tokens = 8\nvocabulary = 50\nnorm = "rms"\n' >odd.toml
trained odd --model odd.toml --data words.bin --steps 1
while IFS='|' read -r words sentence; do
  # shellcheck disable=SC2086 # several words
  refused "$sentence" $words
done <<REFUSALS
$here gpt2/given-1 gpt2/ours-1|holds checkpoints already
$here gpt2/given-1 gpt2/run-1x2x1x1|gpt2/run-1x2x1x1/checkpoints holds checkpoints already
$there gpt2/ours-1 gpt2/given-1|is not empty
$here nowhere there|cannot read nowhere/config.json
$here lacking there|cannot read lacking/model-00002-of-00003.safetensors
$here twice there|both hold
$here both there|does not speak of both/model.safetensors
$here llama/given-1 there --sequence 99|--sequence 99 cannot be used: llama/given-1 has 12 positions
$here llama/given-1 there --sequence 0|--sequence
$here gpt2/given-1 there --sequence 8|has learnt each
$there llama/ours-1 there --shard-GB nan|--shard-GB
$there odd there|is neither a GPT-2 nor a Llama
train --start-from llama/ours-1 --data bytes.txt $none|the words of llama/ours-1 are tokens, and those of bytes.txt are bytes
train --resume llama/run-1x2x1x1 --data bytes.txt $none|are tokens, and those of bytes.txt are bytes; give --data FILE.bin
train --resume gpt2/ours-1 --data words.bin $none|has no optimizer's state
REFUSALS

# Nobody writes down whether 256 words are bytes: it is said what they are taken for.
sed -i 's/vocabulary = 50/vocabulary = 256/' made.toml
trained wide --model made.toml --data words.bin --steps 1
$export wide wide-there >/dev/null
[[ $($import wide-there wide-bytes) == *"taken for bytes, as there are 256 (--words "* ]] ||
  fail "an import does not say what it takes words for"
refused "the words of wide-bytes are bytes, and those of words.bin are tokens; give --data FILE.txt" \
  train --start-from wide-bytes --data words.bin --batch 4 --steps 1 --folder no
[[ $($import wide-there wide-tokens --words tokens) != *"taken for"* ]] || fail "an import says what it was told"
trained wide-run --start-from wide-tokens --data words.bin --steps 1
refused "--words" checkpoint import wide-there there --words letters

# A config.json that is edited.
while IFS='|' read -r given statement sentence; do
  rm -rf edited && cp -r "$given/given-1" edited
  python3 -c 'import json, sys
j = json.load(open("edited/config.json"))
exec(sys.argv[1])
json.dump(j, open("edited/config.json", "w"))' "$statement"
  refused "$sentence" checkpoint import edited there
done <<'EDITS'
gpt2|j["model_type"] = "bert"|model_type "bert"; known: "gpt2"
gpt2|j["n_positions"] = 13|wpe.weight as 12 x 16, and config.json asks for 13 x 16
gpt2|j["activation_function"] = "relu"|activation_function "relu"
llama|j["num_hidden_layers"] = 1|holds model.layers.1.input_layernorm.weight, which no llama of this config.json has
llama|j["num_hidden_layers"] = 3|edited does not hold model.layers.2.
llama|j["num_key_value_heads"] = 4|self_attn.k_proj.weight as 16 x 16, and config.json asks for 32 x 16
llama|j["tie_word_embeddings"] = True|holds an lm_head.weight other than the embedding
llama|j["mlp_bias"] = True|has biases in the MLP alone, and only none is known
llama|j["partial_rotary_factor"] = 0.5|has partial_rotary_factor 0.5
llama|j["quantization_config"] = {"bits": 4}|has a quantization_config
llama|j["rope_scaling"]["rope_type"] = "yarn"|has rope_type "yarn", and only "default" or "llama3" is known
llama|j["rope_scaling"] = True|rope_scaling true, which is no table
llama|j["rope_scaling"] = {"rope_type": "llama3"}|by "llama3" without its factor
EDITS
echo "models come and go as they are"
