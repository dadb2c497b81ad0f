# What tests of folders look after, sourced by them: what belongs to others, in theirs/ of the working
# folder. They have a fail WORDS.
mkdir theirs
echo kept >theirs/precious

# Content, times and links of everything there.
state() { (cd theirs && find . -printf '%p %y %s %T@ %l\n' | sort && cat precious); }
before=$(state)
expect_untouched() { [ "$(state)" = "$before" ] || fail "$1 has touched what is not its own: $(state)"; }
