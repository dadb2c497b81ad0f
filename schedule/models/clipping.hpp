// The factor by which a step's gradients are clipped. Squares of a gradient are owed along exactly
// the axes that cut it, so that each element is counted once.
#pragma once

#include <vector>

#include "schedule/models/gradients.hpp"
#include "schedule/program/recorder.hpp"

namespace fourfold::inline schedule::inline models {

class Clipping {
 public:
  explicit Clipping(Recorder& r) : r_(r) {}

  // Gradients that are reduced.
  void count(const Bucket& bucket);
  // Of all that were counted, and of small ones.
  Id factor(const SmallGradients& small);

 private:
  // A sum of squares on its way: it pays along one axis after the other, the outermost first, and
  // small ones join it where they owe what it still owes. Those of buckets end together, and so do
  // those of small gradients: all stages of a pipeline have both, whatever cuts theirs.
  struct Way {
    Id squares = -1;
    AxisSet cuts;
    std::vector<AxisSet> joining = {};  // packs of small gradients
  };
  // What it comes to on a stage: owed along pipe, if at all.
  Id on_stage(const Way& way, const SmallGradients& small);
  Id owed_by_stages(Id squares) const;

  Recorder& r_;
  std::vector<Way> ways_;
};

}  // namespace fourfold::inline schedule::inline models
