# Sourced by tests of studies of memorisation: what a tiny model is to know by heart, in $folder.

# write_small_study FILE DOCUMENTS REPETITIONS SEEDS STEPS WARM_UP: of proverbs of common words, the same
# each time.
write_small_study() {
  mkdir -p "$folder/text"
  python3 - >"$folder/text/proverbs" <<'END'
import random
random.seed(5)
words = "the of and a to in he was that it his her with as had for she not but at".split()
for _ in range(500):
    print(" ".join(random.choice(words) for _ in range(30)) + "\n%")
END
  cat >"$1" <<END
title = "By heart"
[memorisation]
text = "$folder/text"
document_tokens = 32
ending_tokens = 8
documents = $2
repetitions = $3
seeds = $4
goldfish = { k = 2, h = 5 }
pretraining = { steps = $5, batch = 8, warm_up = $6, learning_rate = 3e-3, last_learning_rate = 0.1 }
continued = { batch = 4, injected = 4, warm_up = 1, learning_rate = 3e-3, last_learning_rate = 0.1 }
[[memorisation.model]]
name = "tiny"
layers = 1
hidden = 64
heads = 2
END
}
