// The folded memory walk equals a naive walk over the whole stream, in which no buffer is read
// before it is allocated or after it is released, and none is left over.
#include "schedule/order/liveness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/fold/memory.hpp"
#include "schedule/program/recorder.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

class NaiveWalk {
 public:
  NaiveWalk(const Schedule& schedule, const ProcessGrid& grid, std::int64_t tokens)
      : p_(schedule.program), grid_(grid), tokens_(tokens) {
    for (std::size_t id = 0; id < p_.values.size(); ++id) {
      if (p_.values[id].persistent) live_.insert(static_cast<Id>(id));
    }
    persistent_ = live_.size();
    for (const Issue& issue : schedule.stream) {
      step(issue);
      peak_ = std::max(peak_, bytes_in_use());
    }
    EXPECT_EQ(live_.size(), persistent_) << "buffers are left over";
  }

  double peak() const { return peak_; }

 private:
  bool exists(const Issue& issue) const {
    const bool cut = grid_.extent(issue.axis) > 1;
    return issue.existence == Existence::always || (issue.existence == Existence::if_cut) == cut;
  }

  void step(const Issue& issue) {
    if (issue.kind == IssueKind::allocate) {
      if (exists(issue)) {
        EXPECT_TRUE(live_.insert(issue.id).second)
            << p_[issue.id].label.full() << " is allocated twice";
      }
    } else if (issue.kind == IssueKind::release) {
      if (exists(issue)) {
        EXPECT_EQ(live_.erase(issue.id), 1u)
            << p_[issue.id].label.full() << " is released without life";
      }
    } else {
      for (Id input : p_.ops[static_cast<std::size_t>(issue.id)].inputs) {
        const bool is_its_piece = p_[input].role == Role::gathered && grid_.extent(Axis::z) == 1;
        EXPECT_TRUE(is_its_piece || live_.contains(input))
            << p_[input].label.full() << " is read dead";
      }
    }
  }

  double bytes_in_use() const {
    double sum = 0;
    for (Id id : live_) {
      sum += static_cast<double>(p_.local_elements(id, grid_, {tokens_}) *
                                 bytes_per_element(p_[id].precision));
    }
    return sum;
  }

  const Program& p_;
  ProcessGrid grid_;
  std::int64_t tokens_;
  std::set<Id> live_;
  std::size_t persistent_ = 0;
  double peak_ = 0;
};

TEST(Liveness, FoldedPeakIsThatOfANaiveWalkOverTheWholeStream) {
  std::mt19937 random(29);
  for (int i = 0; i < 60; ++i) {
    const Model model = small_model(1 + static_cast<std::int64_t>(random() % 4));
    const StepOptions options = random_options(random, 1 + static_cast<int>(random() % 6));
    const std::int64_t tokens = model.sequence * 12;
    const Schedule schedule = issue(record_step(model, options), options);
    for (const ProcessGrid& grid :
         {ProcessGrid(), ProcessGrid(2, 3, 4, 1), ProcessGrid(4, 1, 1, 3)}) {
      SCOPED_TRACE(grid.str() + ", " + std::to_string(model.layers) + " layers, " +
                   described(options));

      const MemoryUse memory = counted(folded_step(model, options), grid, tokens).memory;

      ASSERT_EQ(memory.peak.value, NaiveWalk(schedule, grid, tokens).peak());
      if (HasFailure()) return;
    }
  }
}

// Both operands of a sum may be one value.
TEST(Liveness, AnOperandThatIsReadTwiceAtOnceIsReleasedOnce) {
  Recorder r;
  r.begin_section("sums", -1);
  const Shape shape{all_tokens, 8, {{Axis::data, Axis::z}, {}, {}, {}, Owed::sum}};
  const Id input = r.data("input", shape, Precision::fp32);
  const Id sum = r.add("sum", {input, input}, Precision::fp32);
  r.add("twice", {sum, sum}, Precision::fp32);

  const Schedule schedule = issue(r.finish(), {});

  const auto releases = std::ranges::count_if(schedule.stream, [&](const Issue& issue) {
    return issue.kind == IssueKind::release && issue.id == sum;
  });
  EXPECT_EQ(releases, 1);
}

}  // namespace
}  // namespace fourfold::tests
