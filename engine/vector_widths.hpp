// Loops that are compiled once for each vector width and chosen when the program is loaded: the
// build has no -march flag.
#pragma once

// The thread sanitizer is not there yet when the loader chooses.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define FOURFOLD_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOURFOLD_CLONES
#endif
