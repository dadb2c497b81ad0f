// Rules of the issue order: what may move away from what, what must never happen, and how long
// buffers live.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "schedule/program/recorder.hpp"
#include "tests/new_function.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

Schedule scheduled(std::int64_t layers, const StepOptions& options) {
  return issue(record_step(small_model(layers), options), options);
}

const Op& op_of(const Schedule& s, const Issue& issue) {
  return s.program.ops[static_cast<std::size_t>(issue.id)];
}

bool is_memory(const Issue& issue) {
  return issue.kind == IssueKind::allocate || issue.kind == IssueKind::release;
}

std::vector<Issue> without_memory(const Schedule& s) {
  std::vector<Issue> result;
  for (const Issue& issue : s.stream) {
    if (!is_memory(issue)) result.push_back(issue);
  }
  return result;
}

// Classes of collectives of which one waits later than right after its start.
std::set<Hiding> moved(const Schedule& s) {
  std::set<Hiding> result;
  const std::vector<Issue> stream = without_memory(s);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (stream[i].kind != IssueKind::start) continue;
    const bool at_once = i + 1 < stream.size() && stream[i + 1].kind == IssueKind::wait &&
                         stream[i + 1].id == stream[i].id;
    if (!at_once) result.insert(op_of(s, stream[i]).hiding);
  }
  return result;
}

// Data reductions are never in anybody's way, and move whatever the overlaps are.
std::set<Hiding> moved_by(Overlap overlap) {
  StepOptions options;
  options.overlap = overlap;
  options.micro_batches = 2;
  std::set<Hiding> result = moved(scheduled(4, options));
  result.erase(Hiding::data_reduce);
  return result;
}

TEST(Issue, EachOverlapMovesItsOwnClassAlone) {
  using Moved = std::set<Hiding>;
  EXPECT_EQ(moved_by(no_overlap), Moved{}) << "every wait follows its start at once";
  EXPECT_EQ(moved_by({true, false, false, false}), Moved{Hiding::all_reduce});
  EXPECT_EQ(moved_by({false, true, false, false}), Moved{Hiding::reduce_scatter});
  EXPECT_EQ(moved_by({false, false, true, false}), Moved{Hiding::all_gather});
  EXPECT_EQ(moved_by({false, false, true, true}),
            (Moved{Hiding::all_gather, Hiding::recompute_gather}));
  EXPECT_EQ(moved_by({false, false, false, true}), Moved{})
      << "recompute's gathers are part of OAG";
}

// Channels along z, in the order of the stream: what starts before the wait of what came before.
TEST(Issue, GathersInsideBlocksStartTheFirstOneOfARecomputedBlockWhereItStands) {
  const auto first_of_blocks = [](bool across_blocks) {
    StepOptions options;
    options.overlap.across_blocks = across_blocks;
    const Schedule s = scheduled(4, options);
    std::size_t waited_at_once = 0, moved = 0;
    const std::vector<Issue> stream = without_memory(s);
    for (std::size_t i = 0; i + 1 < stream.size(); ++i) {
      if (stream[i].kind != IssueKind::start) continue;
      if (op_of(s, stream[i]).hiding != Hiding::recompute_gather) continue;
      const bool at_once =
          stream[i + 1].kind == IssueKind::wait && stream[i + 1].id == stream[i].id;
      ++(at_once ? waited_at_once : moved);
    }
    return std::pair{waited_at_once, moved};
  };

  // Four products in each of four blocks.
  EXPECT_EQ(first_of_blocks(true), (std::pair<std::size_t, std::size_t>{0, 16}));
  EXPECT_EQ(first_of_blocks(false), (std::pair<std::size_t, std::size_t>{4, 12}));
}

// Walks a stream and checks what must hold in every schedule.
class Audit {
 public:
  Audit(const Schedule& schedule, const StepOptions& options)
      : s_(schedule), options_(options), times_(s_.program.ops.size()) {
    const std::size_t values = s_.program.values.size();
    ready_.resize(values);
    for (std::size_t id = 0; id < values; ++id) ready_[id] = s_.program.values[id].persistent;
    for (const Issue& issue : s_.stream) {
      if (!is_memory(issue)) step(issue);
    }
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const bool collective = is_collective(s_.program.ops[i].kind);
      EXPECT_EQ(times_[i], collective ? (Times{0, 1, 1}) : (Times{1, 0, 0})) << "operation " << i;
    }
  }

 private:
  using Times = std::array<int, 3>;  // computed, started, waited for

  void step(const Issue& issue) {
    const auto i = static_cast<std::size_t>(issue.id);
    const Op& op = s_.program.ops[i];
    ++times_[i][static_cast<std::size_t>(issue.kind)];
    auto& posts = posts_[op.channel];
    if (issue.kind == IssueKind::wait) {
      ASSERT_LT(static_cast<std::size_t>(issue.back), posts.size());
      EXPECT_EQ(posts[posts.size() - 1 - static_cast<std::size_t>(issue.back)], issue.id);
      in_flight_.erase(issue.id);
    } else {
      for (Id input : op.inputs) {
        EXPECT_TRUE(ready_[static_cast<std::size_t>(input)])
            << s_.program[input].label.full() << " is read before it is there";
      }
    }
    if (issue.kind == IssueKind::start) {
      posts.push_back(issue.id);
      if (op.hiding == Hiding::reduce_scatter) in_flight_.insert(issue.id);
      return;
    }
    for (Id output : op.outputs) ready_[static_cast<std::size_t>(output)] = true;
    if (issue.kind == IssueKind::compute && !op.deferrable) {
      EXPECT_LE(blocks_in_flight(), options_.in_flight_blocks);
    }
  }

  std::int64_t blocks_in_flight() const {
    std::set<std::size_t> sections;
    for (std::int32_t op : in_flight_) {
      std::size_t section = 0;
      while (section + 1 < s_.program.sections.size() &&
             s_.program.sections[section + 1].first_op <= op) {
        ++section;
      }
      sections.insert(section);
    }
    return static_cast<std::int64_t>(sections.size());
  }

  const Schedule& s_;
  StepOptions options_;
  std::vector<Times> times_;
  std::vector<bool> ready_;
  std::map<ChannelNumber, std::vector<std::int32_t>> posts_;
  std::set<std::int32_t> in_flight_;  // reduce-scatters
};

// Walks a stream as it stands: no buffer is read before it is allocated or after it is released,
// and none is left over.
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

// And the folded peak is that of a naive walk over the whole stream.
TEST(Issue, EveryScheduleKeepsTheRules) {
  std::mt19937 random(29);
  for (int i = 0; i < 100; ++i) {
    const Model model = small_model(1 + static_cast<std::int64_t>(random() % 4));
    const StepOptions options = random_options(random, 1 + static_cast<int>(random() % 6));
    const std::int64_t tokens = model.sequence * 12;
    const Schedule schedule = issue(record_step(model, options), options);
    Audit(schedule, options);
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

TEST(Issue, AWiderWindowKeepsMoreReduceScattersInFlight) {
  std::int32_t last = -1;
  for (std::int64_t window : {0, 1, 2, 4}) {
    StepOptions options;
    options.in_flight_blocks = window;

    const Schedule schedule = scheduled(6, options);

    std::int32_t furthest = 0;
    for (const Issue& issue : schedule.stream) {
      if (issue.kind == IssueKind::wait && op_of(schedule, issue).kind == OpKind::reduce_scatter) {
        furthest = std::max(furthest, issue.back);
      }
    }
    EXPECT_GT(furthest, last);
    last = furthest;
  }
}

// Starts of data reductions before and after the last backward section begins.
std::pair<int, int> data_starts(DataReduction reduction) {
  StepOptions options;
  options.micro_batches = 2;
  options.data_reduction = reduction;
  const Schedule s = scheduled(5, options);
  std::int32_t last_backward = 0;
  for (const IssueSection& section : s.sections) {
    const Section& named = s.program.sections[static_cast<std::size_t>(section.section)];
    if (named.name == "embedding backward") last_backward = section.first;
  }
  std::pair<int, int> result{0, 0};
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(s.stream.size()); ++i) {
    const Issue& issue = s.stream[static_cast<std::size_t>(i)];
    if (issue.kind != IssueKind::start || op_of(s, issue).axis != Axis::data) continue;
    ++(i < last_backward ? result.first : result.second);
  }
  return result;
}

TEST(Issue, DataReductionsRunAfterBackwardOrBesideIt) {
  // Five blocks, the vocabulary, the small tensors and the loss.
  EXPECT_EQ(data_starts(DataReduction::after_backward), std::make_pair(0, 8));
  const auto [beside, after] = data_starts(DataReduction::beside_backward);
  EXPECT_EQ(beside + after, 8);
  EXPECT_EQ(beside, 5 - 2) << "the window holds back the last two blocks";
}

// Of a function that Fourfold does not have, too.
TEST(Issue, AResultTakesOverTheMemoryOfWhatIsReadLast) {
  Recorder r;
  r.begin_section("layer", 0);
  const Shape stream{all_tokens, 8, {{Axis::data, Axis::z}, {Axis::y}, {}, {}, Owed::sum}};
  const Id input = r.data("input", stream, Precision::bf16);
  const Id above = r.map({functions::squared_relu, "above", Precision::bf16}, {input});
  r.map({functions::squared_relu_backward, "below", Precision::bf16}, {above, input});

  const Schedule s = issue(r.finish(), {});

  const auto step = std::ranges::find_if(s.stream, [&](const Issue& issue) {
    return !is_memory(issue) && op_of(s, issue).is(functions::squared_relu_backward);
  });
  ASSERT_NE(step, s.stream.end());
  EXPECT_EQ(std::next(step)->kind, IssueKind::release);
  EXPECT_EQ(std::next(step)->id, above);
  EXPECT_EQ(std::next(step, 2)->kind, IssueKind::allocate) << "of the result";
}

TEST(Issue, AReductionThatNobodyReadsIsDoneAllTheSame) {
  Recorder r;
  r.begin_section("alone", 0);
  const Shape owed{8, 8, {{}, {}, {}, {Axis::data}, Owed::sum}};
  r.all_reduce(r.data("value", owed, Precision::fp32), Axis::data, Hiding::data_reduce);

  const Schedule s = issue(r.finish(), {});

  const std::vector<Issue> stream = without_memory(s);
  ASSERT_EQ(stream.size(), 2u);
  EXPECT_EQ(stream[0].kind, IssueKind::start);
  EXPECT_EQ(stream[1].kind, IssueKind::wait);
}

}  // namespace
}  // namespace fourfold::tests
