# What job tests train, sourced by them: a model that takes milliseconds a step, and its text.

# write_small_job FOLDER LAYERS: small.toml and text.txt there.
write_small_job() {
  cat >"$1/small.toml" <<TOML
layers = $2
hidden = 32
heads = 4
sequence_tokens = 32
vocabulary = 256
TOML
  for ((i = 0; i < 300; i++)); do echo "she sells sea shells by the sea shore"; done >"$1/text.txt"
}
