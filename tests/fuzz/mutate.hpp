// Texts that are nearly right: bytes flipped, lines doubled, numbers made absurd, two texts mixed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fourfold::tests {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  // One of the seeds after one to eight changes.
  std::string text(const std::vector<std::string>& seeds);
  // One of the command lines after one to three: words swapped, dropped, doubled, changed.
  std::vector<std::string> words(const std::vector<std::vector<std::string>>& seeds);

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  void change(std::string& text, const std::vector<std::string>& seeds);

  std::mt19937_64 random_;
};

}  // namespace fourfold::tests
