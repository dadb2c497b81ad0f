// How many layers each stage of a pipeline has, where someone says it: "15,14x16,15".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fourfold::inline schedule::inline program {

class LayersPerStage {
 public:
  // Shared out evenly, the rest in the middle.
  LayersPerStage() = default;
  // Reads counts in the order of the model, "14x16" being 14 times 16; or "even", the usual.
  // Throws std::invalid_argument with a sentence.
  static LayersPerStage parse(const std::string& text);

  bool said() const { return !counts_.empty(); }
  std::string str() const;  // "15,14x16,15"; or "even"

  // Why layers cannot be dealt out so, as a sentence; empty if they can, or nothing is said. There
  // is a count for each stage, or for each chunk in the order of the model. No chunk is empty but
  // the first and the last of several a stage: the embedding, or the head, alone.
  std::string fault(std::int64_t layers, std::int64_t stages, std::int64_t chunks) const;
  // The layers of a chunk, of `chunks` on each stage, numbered in the order of the model: the first
  // one, and the first of the next chunk. A stage deals its layers out evenly, fewer to the first
  // chunks on the first stage, and to the last ones on all others. Only without a fault.
  std::pair<std::int64_t, std::int64_t> of_chunk(std::int64_t stages, std::int64_t chunks,
                                                 std::int64_t chunk) const;
  // The fewest layers of a chunk.
  std::int64_t fewest(std::int64_t stages, std::int64_t chunks) const;

  bool operator==(const LayersPerStage&) const = default;

 private:
  std::int64_t count(std::int64_t stages, std::int64_t chunks, std::int64_t chunk) const;

  std::vector<std::int64_t> counts_;
};

}  // namespace fourfold::inline schedule::inline program
