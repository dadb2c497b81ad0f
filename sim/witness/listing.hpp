// The flat text that `fourfold-replay --listing` writes, read back; nothing of Fourfold is needed.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline sim::inline witness {

struct Class {
  double delay_s = 0.0;
  double bytes = 0.0;  // that a member sends
  double bytes_per_s = 0.0;
  int steps = 1;
};

// What a group of ranks does: passes on to the next one, sends to all others, or to both
// neighbours.
struct Ring {
  enum class Kind { ring, pairs, line };
  Kind kind = Kind::ring;
  double share = 1.0;  // of the bytes
  std::vector<int> ranks;
};

struct ListedChannel {
  std::string name;
  std::vector<Ring> rings;  // of all its groups
};

struct Step {
  enum class Kind { compute, post, wait };
  Kind kind = Kind::compute;
  std::vector<double> seconds;  // compute: by pace
  int channel = 0;              // post, wait: index into Listing::channels
  int number = 0;               // post: of the class; wait: of the collective on its channel
};

struct Listing {
  int ranks = 0;
  std::vector<Class> classes;  // by their number
  std::vector<ListedChannel> channels;
  std::vector<int> paces;  // by rank: which of a step's seconds it takes
  std::vector<Step> steps;
};

// Throws std::runtime_error with a sentence if the file cannot be read or has a line of another
// form.
Listing read_listing(const std::string& path);

}  // namespace fourfold::inline sim::inline witness
