// What is counted of all stages of a pipeline together, against each stage alone and against a walk
// through every event; and the order in which stages meet, post by post.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "schedule/fold/count.hpp"
#include "schedule/fold/memory.hpp"
#include "schedule/fold/memory_effects.hpp"
#include "schedule/fold/memory_series.hpp"
#include "schedule/fold/pipeline.hpp"
#include "schedule/fold/short_folds.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t steps_drawn = 36;

// Every other one of a block that is no GPT's.
DrawnStep drawn(std::int64_t number) {
  if (number % 2 == 0) return drawn_step(number, 96);
  const std::vector<Model> shapes = shapes_of({"block", 13, 96, 24, 24, 1009});
  return drawn_step(number, 96, shapes[static_cast<std::size_t>(number / 2) % shapes.size()]);
}

struct Stages {
  std::vector<Folded> folded;
  std::vector<LocalSizes> sizes;

  explicit Stages(const DrawnStep& step)
      : folded(folded_stages(step.model, step.options, step.grid.extent(Axis::pipe))),
        sizes(folded.size()) {
    for (std::size_t i = 0; i < folded.size(); ++i) {
      sizes[i].evaluate(folded[i], step.grid, {step.micro_batch_tokens()});
    }
  }
};

std::vector<LocalSizes> sizes_of_kinds(const Pipeline& pipeline, const Stages& stages) {
  std::vector<LocalSizes> sizes;
  for (const StageKind& kind : pipeline.kinds()) {
    sizes.push_back(stages.sizes[static_cast<std::size_t>(kind.stage)]);
  }
  return sizes;
}

void expect_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, 1e-12 * expected) << what;
}

TEST(PipelineCounts, AreTheMeansOfTheirStages) {
  for (std::int64_t number = 0; number < steps_drawn; ++number) {
    const DrawnStep step = drawn(number);
    const Stages stages(step);
    const Pipeline pipeline(stages.folded);
    std::vector<Counts> each;
    for (std::size_t i = 0; i < stages.folded.size(); ++i) {
      each.push_back(count(stages.folded[i], stages.sizes[i], step.grid));
    }

    const Counts all = mean_count(pipeline, sizes_of_kinds(pipeline, stages), step.grid);
    const Counts of_means = mean(each);

    const auto stage_count = static_cast<double>(each.size());
    std::map<std::string, std::array<double, 3>> sums;  // by channel
    double gemm = 0.0, functions = 0.0;
    for (const Counts& one : each) {
      gemm += one.gemm.value;
      functions += one.functions.value;
      for (std::size_t c = 0; c < one.channels.size(); ++c) {
        std::array<double, 3>& sum = sums[name(one.channels[c])];
        sum[0] += one.payload[c].value;
        sum[1] += one.sent[c].value;
        sum[2] += static_cast<double>(one.collectives[c]);
      }
    }
    for (const Counts* counts : {&all, &of_means}) {
      expect_near(counts->gemm.value * stage_count, gemm, words_of(step));
      expect_near(counts->functions.value * stage_count, functions, words_of(step));
      ASSERT_EQ(counts->channels.size(), sums.size()) << words_of(step);
      for (std::size_t c = 0; c < counts->channels.size(); ++c) {
        const auto& [payload, sent, collectives] = sums.at(name(counts->channels[c]));
        const std::string what = words_of(step) + ' ' + name(counts->channels[c]);
        expect_near(counts->payload[c].value * stage_count, payload, what);
        expect_near(counts->sent[c].value * stage_count, sent, what);
        EXPECT_EQ(static_cast<double>(counts->collectives[c]), std::ceil(collectives / stage_count))
            << what;
        EXPECT_TRUE(each.size() == 1 || c == 0 ||
                    in_order(counts->channels[c - 1], counts->channels[c]))
            << what;
      }
    }
  }
}

// The most bytes, and of which roles, walking through every event as it comes.
struct Walked {
  std::array<double, role_count> now{}, at_peak{};
  double sum = 0.0, peak = 0.0;

  void add(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
           const ProcessGrid& grid) {
    for (const BufferEvent& event : events) {
      const bool cut = grid.extent(event.axis) > 1;
      if (event.existence == (cut ? Existence::if_uncut : Existence::if_cut)) continue;
      const double bytes = event.sign * sizes.bytes[static_cast<std::size_t>(event.size)];
      now[static_cast<std::size_t>(event.role)] += bytes;
      sum += bytes;
      if (sum <= peak) continue;
      peak = sum;
      at_peak = now;
    }
  }
};

Walked walked(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid) {
  Walked walk;
  walk.add(folded.persistent, sizes, grid);
  for (const BodyCycle& cycle : folded.cycles) {
    for (std::int64_t i = 0; i < cycle.repeats; ++i) {
      for (const BodyRun& run : cycle.runs) {
        for (std::int64_t k = 0; k < run.repeats; ++k) {
          walk.add(folded.bodies[static_cast<std::size_t>(run.body)].events, sizes, grid);
        }
      }
    }
  }
  return walk;
}

void expect_peaks_of_a_walk(const DrawnStep& step) {
  const Stages stages(step);
  const Pipeline pipeline(stages.folded);

  const std::vector<MemoryUse> all =
      peak_memory(pipeline, sizes_of_kinds(pipeline, stages), step.grid);

  ASSERT_EQ(all.size(), stages.folded.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(words_of(step) + ", stage " + std::to_string(i));
    const Folded& folded = stages.folded[i];
    const MemoryUse alone = peak_memory(folded, stages.sizes[i], step.grid);
    const Walked walk = walked(folded, stages.sizes[i], step.grid);
    Walked host;
    host.add(folded.on_host, stages.sizes[i], step.grid);

    EXPECT_EQ(all[i].peak, alone.peak);
    EXPECT_EQ(all[i].on_host.value, host.sum);
    EXPECT_EQ(alone.on_host.value, host.sum);
    if (folded.ready.limit > 0) {  // of a queue every sequence of turns is looked at
      EXPECT_GE(alone.peak.value, walk.peak);
      continue;
    }
    EXPECT_EQ(alone.peak.value, walk.peak);
    double of_roles = 0.0;
    for (std::size_t role = 0; role < role_count; ++role) {
      EXPECT_EQ(alone.by_role[role].value, walk.at_peak[role]) << "role " << role;
      of_roles += all[i].by_role[role].value;
    }
    EXPECT_EQ(of_roles, walk.peak);
    double highest = 0.0;
    for (const MemoryMoment& moment : memory_over_step(folded, stages.sizes[i], step.grid, {})) {
      highest = std::max(highest, moment.high.sum().value);
    }
    EXPECT_EQ(highest, walk.peak) << "over the step";
  }
}

// Drawn ones; and long ones, where most is in use while micro-batches still come in, or in the
// middle of a long stretch.
TEST(PipelinePeaks, AreThoseOfAWalkThroughEveryEvent) {
  for (std::int64_t number = 0; number < steps_drawn; ++number) {
    expect_peaks_of_a_walk(drawn(number));
  }
  const Model model{"long", 12, 96, 12, 64, 128};
  for (PipelineOrder order :
       {PipelineOrder::one_f_one_b, PipelineOrder::gpipe, PipelineOrder::zero_bubble}) {
    for (std::int64_t micro_batches : {3, 12, 30}) {
      DrawnStep step{model, ProcessGrid(1, 1, 2, 1, 12), 2 * micro_batches, {}};
      step.options.order = order;
      step.options.micro_batches = micro_batches;
      step.options.recompute = Recompute::none;
      expect_peaks_of_a_walk(step);
    }
  }
}

// What a body takes and gives back of activations itself: what other roles give back in it, of
// buffers of the same sizes, is nothing of that.
TEST(Temporaries, AreOfActivationsAlone) {
  double all = 0.0;
  for (std::int64_t number = 0; number < steps_drawn; ++number) {
    const DrawnStep step = drawn(number);
    const Stages stages(step);
    Folded folded = stages.folded.front();
    const auto temporaries = [&] {
      return temporaries_of_bodies(folded, stages.sizes.front(), step.grid, {});
    };
    const std::vector<double> before = temporaries();
    for (Body& body : folded.bodies) {
      const std::vector<BufferEvent> events = body.events;
      for (const BufferEvent& event : events) {
        body.events.push_back({event.size, -1, Role::gradient});
      }
    }

    EXPECT_EQ(temporaries(), before) << words_of(step);
    for (const double bytes : before) all += bytes;
  }
  EXPECT_GT(all, 0.0);
}

// A wait comes after the posts of all members of its group; numbers of a channel rise by one.
TEST(PipelineMeetings, ComeAfterWhatTheyNeed) {
  for (std::int64_t number = 0; number < steps_drawn; ++number) {
    const DrawnStep step = drawn(number);
    const std::int64_t count_of_stages = step.grid.extent(Axis::pipe);
    if (count_of_stages == 1 || step.options.order == PipelineOrder::message_driven) continue;
    const Pipeline pipeline(folded_stages(step.model, step.options, count_of_stages));
    std::map<std::int32_t, std::vector<std::int32_t>> posts;  // by number: the stages' own
    std::size_t own = Meeting::no_post + 1;
    for (const Meeting& meeting : pipeline.meetings()) {
      if (meeting.wait.number != Meeting::no_wait) {
        const std::vector<std::int32_t>& there = posts[meeting.wait.number];
        const Channel& channel = pipeline.channels()[static_cast<std::size_t>(meeting.channel)];
        EXPECT_EQ(there.size(), group(channel, count_of_stages, meeting.stage).size())
            << words_of(step);
        EXPECT_EQ(std::ranges::count(there, meeting.wait.post), 1) << words_of(step);
      }
      if (meeting.post.number == Meeting::no_post) continue;
      posts[meeting.post.number].push_back(meeting.post.post);
      EXPECT_EQ(meeting.post.post, static_cast<std::int32_t>(own++)) << words_of(step);
    }
    EXPECT_EQ(pipeline.posts(), own);
    for (const auto& [posted, stages] : posts) {
      EXPECT_LT(static_cast<std::size_t>(posted), pipeline.numbers());
      EXPECT_EQ(std::ranges::count(pipeline.beginnings(), posted), 0);
    }
  }
}

// Of each set, how often its stages do what: all that their cycles say.
TEST(PipelineSets, DoWhatTheirStagesDo) {
  for (std::int64_t number = 0; number < steps_drawn; number += 2) {
    const DrawnStep step = drawn(number);
    const Pipeline pipeline(folded_stages(step.model, step.options, step.grid.extent(Axis::pipe)));
    std::size_t stages = 0;
    for (const StageSet& set : pipeline.sets()) {
      std::vector<std::int64_t> classes(set.classes.size()), starts(set.collectives.size());
      for (std::int32_t i : set.stages) {
        ++stages;
        const Folded& folded = pipeline.stages()[static_cast<std::size_t>(i)];
        for (const BodyCycle& cycle : folded.cycles) {
          for (const BodyRun& run : cycle.runs) {
            for (const FoldedStep& one : folded.bodies[static_cast<std::size_t>(run.body)].steps) {
              const auto index = static_cast<std::size_t>(one.index);
              const std::int64_t times = run.repeats * cycle.repeats;
              if (one.kind == IssueKind::start) starts.at(index) += times;
              if (one.kind != IssueKind::compute) continue;
              for (std::int32_t c : folded.bundles[index]) {
                classes.at(static_cast<std::size_t>(c)) += times;
              }
            }
          }
        }
      }
      EXPECT_EQ(set.classes, classes) << words_of(step);
      EXPECT_EQ(set.collectives, starts) << words_of(step);
    }
    EXPECT_EQ(stages, pipeline.stages().size());
  }
}

}  // namespace
}  // namespace fourfold::tests
