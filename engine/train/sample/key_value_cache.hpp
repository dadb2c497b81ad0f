// Decoding with a key-value cache. A first pass reads whole texts and keeps each layer's keys and
// values; from then on a step reads one word of each text, and its attention looks back at what was
// kept. Both walk the ordinary forward pass of a stage, on any grid: only the functions that look
// at other words or at places are others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/backend.hpp"
#include "schedule/order/issue.hpp"

namespace fourfold::inline engine::inline train::inline sample {

// The forward pass of a stage, whose attention keeps keys and values on the way.
Schedule reading_pass(Schedule evaluation);
// The same for one word of each text: to be executed for sequences of one word.
Schedule decoding_pass(Schedule evaluation);

// Computes those two passes, and leaves everything but their own functions to other kernels. What
// is kept lies in the host's memory: of this rank's texts, heads and layers.
class CachingBackend : public Backend {
 public:
  // The kernels must outlive it.
  explicit CachingBackend(Backend& kernels) : kernels_(kernels) {}

  // Before a reading pass: so many words of each text are to be kept, 0: none.
  void will_read(std::int64_t words) { words_ = words; }
  // Before a decoding pass: one word more of each.
  void will_decode() { ++words_; }
  // That are kept of each text.
  std::int64_t words() const { return words_; }

  DeviceMemory& memory() override { return kernels_.memory(); }
  void compute(const Device& device, const Op& op, const KernelOperands& operands,
               const ProgressCall& progress) override;
  void update(const reference::AdamWStep& step, const UpdateOperands& operands,
              const ProgressCall& progress) override {
    kernels_.update(step, operands, progress);
  }

 private:
  // Of one layer: for each text and group of heads the keys, column by column, so that the scores
  // of all words lie side by side; then the values, word by word.
  using Kept = std::vector<float>;
  // A block of QKV: groups of heads, each its queries, then its key and its value.
  struct Layout {
    std::int64_t texts = 0, groups = 0;
    std::int64_t queries = 1;  // heads of a group
    std::int64_t columns = 0;  // of a head
    std::int64_t sequence = 0;
  };
  Layout layout_of(const Device& device, const Op& op, const Tensor& qkv,
                   std::int64_t rows_a_text) const;
  Kept& kept(const Device& device, const Op& op, const Layout& layout);
  static void keep(const Layout& layout, const float* key_and_value, std::int64_t place,
                   float* of_group);

  void read(const Device& device, const Op& op, const Tensor& qkv);
  void attend(const Device& device, const Op& op, const KernelOperands& operands);
  void add_position(const KernelOperands& operands);
  void turn(const Device& device, const Op& op, const KernelOperands& operands);

  Backend& kernels_;
  std::int64_t words_ = 0;
  std::map<std::string, Kept> layers_;  // by the name of what attention makes
  std::map<const Op*, Op> plain_;       // what keeping attentions are computed as
};

}  // namespace fourfold::inline engine::inline train::inline sample
