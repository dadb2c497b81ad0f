// Layer norm, or RMS norm, over columns that are cut by y: means and squares are owed along y. A
// layer norm takes two passes, because E[x^2] - E[x]^2 cancels; an RMS norm has no mean.
#pragma once

#include "schedule/models/layer.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

class Norm {
 public:
  struct Saved {
    Id input = -1, squares = -1;
    Id sum = -1;  // of a layer norm
  };

  Norm(Recorder& r, Label label, const Model& model, SmallGradients& small);

  Forward<Saved> forward(const Recording& in, Id input) const;
  // The output once more, from what was kept.
  Id again(const Recording& in, const Saved& saved) const;
  // Gradient of the input, and of the parameters to the small gradients.
  Id backward(const Recording& in, const Saved& saved, Id gradient) const;

 private:
  // The functions of one kind of norm, and how many rows its parameters have.
  struct Kind {
    const Function &forward, &sums, &parameters, &backward;
    std::int64_t rows = 1;
  };
  static const Kind& kind(NormKind norm);
  bool centred() const { return kind_->rows == 2; }
  // The input with its statistics, as the functions take them, between other operands.
  static std::vector<Id> with_statistics(const std::vector<Id>& before, const Saved& saved,
                                         const std::vector<Id>& behind);

  const Kind* kind_;
  Label label_;
  Parameter parameters_;  // scale, and a layer norm's offset below it; columns cut by y
  std::size_t slot_ = 0;
};

}  // namespace fourfold::inline schedule::inline models
