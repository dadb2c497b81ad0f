#!/usr/bin/env bash
# Training systems on the command line: listed, obeyed, overruled, compared and drawn.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

"$fourfold" systems | heard '^deepspeed-3d .* 2 + 4 + 16/data ' || fail "no state of deepspeed-3d"

small=(--platform perlmutter --model gpt2-124m --devices 8 --batch-tokens 65536)
said=$("$fourfold" project "${small[@]}" --fidelity estimated --system deepspeed-3d --zero 0 --json)
[[ $said == *'"system":{"name":"deepspeed-3d"'* ]] || fail "the record has no system: $said"
[[ $said == *'"zero":"command line"'* ]] || fail "the record does not say who set zero: $said"

# A system of one's own beside a shipped one.
cp "${FOURFOLD_SOURCE_DIR:?}/systems/pytorch-fsdp.toml" "$folder/mine.toml"
compared=(compare "${small[@]}" --systems "sc24-baseline,$folder/mine.toml" --output "$folder/out")
run 0 "${compared[@]}" --wide
grep -q '^perlmutter .* sc24-baseline .*x=4' "$folder/said" || fail "no baseline with x of a node"
grep -q '^perlmutter .* mine .*compute [0-9]* %' "$folder/said" || fail "no parts of mine"
says "systems are drawn"
for word in sc24-baseline mine compute 'seconds per batch'; do
  grep -q ">.*$word" "$folder/out/systems.svg" || fail "the picture has no '$word'"
done
run 0 "${compared[@]}" --json
[ "$(grep -c '"software"' "$folder/said")" -eq 2 ] || fail "not two records"
says '2 kept'

# What limits the simulation reaches it.
run 2 compare "${small[@]}" --systems sc24-baseline --output "$folder/limited" --fidelity simulated \
  --work-limit 1 --at-most-grids 3
says "each of 3 simulations took more than 1 units of work"

# Two of one name cannot be told apart.
mkdir "$folder/other"
sed 's/usual = 2/usual = 4/' "${FOURFOLD_SOURCE_DIR:?}/systems/pytorch-fsdp.toml" >"$folder/other/pytorch-fsdp.toml"
run 2 compare "${small[@]}" --systems "pytorch-fsdp,$folder/other/pytorch-fsdp.toml"
says "is another system called pytorch-fsdp; copy it to a file of another name"
# An order drawn: what only one kind of picture takes.
run 2 show order --stages 4 --micro-batches 8 --batch-tokens 55
says "without --platform all layers are drawn alike"
run 2 show order --platform crossbar --model gpt-5b --grid pipe=2,x=2 --micro-batches 4 --times 1,2,3
says "--times cannot take effect"

echo "systems are compared"
