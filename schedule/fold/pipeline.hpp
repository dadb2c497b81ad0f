// The folded steps of all stages of a pipeline with what they have in common: stages that are alike
// but for how often they do what, and in which order they meet. It serves every grid.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/fold/fold.hpp"

namespace fourfold::inline schedule::inline fold {

// What a stage does between two meetings with other stages. A body's parts are what lies before its
// first post or wait on a channel along pipe, between that and the second, and so on.
struct LegPart {
  std::int32_t body = 0;
  std::int32_t part = 0;
  std::int64_t repeats = 1;
  bool operator==(const LegPart&) const = default;
};
using Leg = std::vector<LegPart>;

// A wait on a channel along pipe, a post on one, and the leg that follows. What is posted has a
// number, the same for all who post it: theirs is one message or collective. Where one of the two
// is missing, its members are the least: a wait for what was always there, a post of nothing.
struct Meeting {
  static constexpr std::int32_t no_wait = 0;
  static constexpr std::int32_t no_post = 1;

  std::int16_t stage = 0;
  std::int16_t channel = 0;  // of the wait, one of Pipeline::channels
  struct Act {
    std::int32_t number = 0;       // the one before it on its channel is `number - 1`
    std::int32_t post = 0;         // the stage's own post: this one, or the one waited for
    std::int32_t collective = -1;  // the stage's collective class that it is
  };
  Act wait{no_wait, no_wait, -1};
  Act post{no_post, no_post, -1};
  std::int32_t leg = 0;  // of the kind
};

// Runs that come one after the other again and again.
using RunWord = std::vector<BodyRun>;

// Stages whose folded steps differ in their cycles and their channels' names only.
struct StageKind {
  std::int32_t stage = 0;      // one of them
  std::vector<Leg> legs;       // distinct
  std::vector<RunWord> words;  // distinct
  // By leg, how often it follows a meeting of any of the stages.
  std::vector<std::int64_t> times = {};
};

// Cycles of a stage as words of its kind: those that come once are one, whatever they are parts of.
struct WordCycle {
  struct Run {
    std::int32_t word = 0;
    std::int64_t repeats = 1;
  };
  std::vector<Run> runs;
  std::int64_t repeats = 1;
};

// Stages of one kind with the same channels: what they do, all together.
struct StageSet {
  std::int32_t kind = 0;
  std::vector<ChannelNumber> channels;  // of Pipeline::channels, by channel of the stage
  std::vector<std::int32_t> stages;
  std::vector<std::int64_t> classes;      // times, by class
  std::vector<std::int64_t> collectives;  // times, by collective class
};

class Pipeline {
 public:
  Pipeline() = default;
  // Throws std::invalid_argument if the stages wait for each other for ever.
  explicit Pipeline(std::vector<Folded> stages);

  const std::vector<Folded>& stages() const { return stages_; }
  // Of all stages, in order.
  const std::vector<Channel>& channels() const { return channels_; }
  const std::vector<StageKind>& kinds() const { return kinds_; }
  const std::vector<StageSet>& sets() const { return sets_; }
  const StageKind& kind_of(std::size_t stage) const { return kinds_[index_of_kind(stage)]; }
  std::size_t index_of_kind(std::size_t stage) const {
    return static_cast<std::size_t>(kind_of_[stage]);
  }
  // The cycles of a stage.
  const std::vector<WordCycle>& cycles(std::size_t stage) const { return cycles_[stage]; }

  // All meetings of all stages, each after what it needs; none of those of ready-queues.
  const std::vector<Meeting>& meetings() const { return meetings_; }
  // How many numbers and own posts there are.
  std::size_t numbers() const { return numbers_; }
  // The numbers before the first of each channel, which nobody posts.
  const std::vector<std::int32_t>& beginnings() const { return beginnings_; }
  std::size_t posts() const { return posts_; }

 private:
  std::vector<Folded> stages_;
  std::vector<Channel> channels_;
  std::vector<StageKind> kinds_;
  std::vector<std::int32_t> kind_of_;
  std::vector<StageSet> sets_;
  std::vector<std::vector<WordCycle>> cycles_;  // by stage
  std::vector<Meeting> meetings_;
  std::vector<std::int32_t> beginnings_;
  std::size_t numbers_ = 0, posts_ = 0;
};

}  // namespace fourfold::inline schedule::inline fold
