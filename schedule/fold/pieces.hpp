// In which order a device does the steps of a folded body, kernel by kernel: as they were issued,
// or with collectives along x cut into pieces that go beside the products they feed or drain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schedule/fold/fold.hpp"

namespace fourfold::inline schedule::inline fold {

// Of a kernel, where a group along x has m members: all of it, one of m pieces, the m - 1 others.
enum class Piece : std::uint8_t { whole, one, others };

constexpr double part_of_kernel(Piece piece, std::int64_t members) {
  if (piece == Piece::whole) return 1.0;
  const double one = 1.0 / static_cast<double>(members);
  return piece == Piece::one ? one : 1.0 - one;
}

// A gather along x that a product waits for: the product starts with the piece that is there and
// takes the others as they come, so that only its last piece waits for the whole gather. A
// reduction that waits for a product starts with the product's first piece (userbuffers of
// Transformer Engine; asynchronous tensor parallelism of PyTorch).
class PieceOrder {
 public:
  PieceOrder(const Folded& folded, const Body& body) : folded_(folded), steps_(body.steps) {}

  // Calls kernel(class, ordinal of the kernel in the body, piece) and communicate(step) in order.
  template <typename Kernel, typename Communicate>
  void each(bool beside, const Kernel& kernel, const Communicate& communicate) const {
    std::int32_t ordinal = 0;
    Piece first = Piece::whole;  // of the next bundle's first kernel
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const FoldedStep& step = steps_[i];
      if (step.kind != IssueKind::compute) {
        const std::size_t product = beside ? product_after_gather(i) : i;
        communicate(step);
        if (product == i) continue;
        FoldedStep wait = steps_[i + 1];
        for (std::size_t between = i + 2; between < product; ++between) {
          communicate(steps_[between]);
          if (steps_[between].channel == wait.channel) ++wait.back;
        }
        kernel(bundle(product).front(), ordinal, Piece::others);
        communicate(wait);
        first = Piece::one;
        i = product - 1;
        continue;
      }
      const std::vector<std::int32_t>& classes = bundle(i);
      for (std::size_t c = 0; c + 1 < classes.size(); ++c) {
        kernel(classes[c], ordinal++, c == 0 ? first : Piece::whole);
      }
      const bool alone = classes.size() == 1;
      const Piece of_last = alone ? first : Piece::whole;
      first = Piece::whole;
      if (!beside || of_last != Piece::whole || !drains(i)) {
        kernel(classes.back(), ordinal++, of_last);
        continue;
      }
      kernel(classes.back(), ordinal, Piece::one);
      communicate(steps_[++i]);
      kernel(classes.back(), ordinal++, Piece::others);
    }
  }

 private:
  const std::vector<std::int32_t>& bundle(std::size_t step) const {
    return folded_.bundles[static_cast<std::size_t>(steps_[step].index)];
  }
  bool is_product(std::int32_t number) const {
    return folded_.classes[static_cast<std::size_t>(number)].kind == OpKind::gemm;
  }
  // Whether a step starts such a collective along x, and the next one waits for it.
  bool awaited(std::size_t start, CollectiveKind kind) const;
  // The step of the product that comes next after a gather's start, or the start itself.
  std::size_t product_after_gather(std::size_t start) const;
  // Whether a reduction follows on the product with which a step ends.
  bool drains(std::size_t compute) const;

  const Folded& folded_;
  const std::vector<FoldedStep>& steps_;
};

}  // namespace fourfold::inline schedule::inline fold
