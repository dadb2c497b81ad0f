#!/usr/bin/env bash
# A simulation that is killed is tried again as often as --retries says, and no more often.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

# Beside this fourfold a replay that is killed as many times as the file `deaths` says.
mkdir "$folder/bin"
cp "$fourfold" "$folder/bin/"
cat >"$folder/bin/fourfold-replay" <<SCRIPT
#!/usr/bin/env bash
left=\$(cat "$folder/deaths")
if [ "\$left" -gt 0 ]; then
  echo \$((left - 1)) >"$folder/deaths"
  kill -9 \$\$
fi
exec "$(dirname "$fourfold")/fourfold-replay" "\$@"
SCRIPT
chmod +x "$folder/bin/fourfold-replay"
fourfold=$folder/bin/fourfold
# A sequence for each of data: one candidate, one simulation.
one_point "$folder/study.toml" simulated 2_048 perlmutter 'devices = 8, model = "gpt2-124m", grid = "4x1x1x2"'

# try DEATHS RETRIES STATUS LEFT
try() {
  rm -rf "$folder/out"
  echo "$1" >"$folder/deaths"
  run "$3" campaign run "$folder/study.toml" --output "$folder/out" --retries "$2"
  [ "$(cat "$folder/deaths")" -eq "$4" ] || fail "of $1 deaths $(cat "$folder/deaths") are left"
}
try 0 0 0 0
try 1 0 2 0
try 1 1 0 0
try 3 1 2 1
try 2 2 0 0

echo "what is killed is tried again"
