// Finds what the stages of a pipeline have in common, and in which order they meet (long because
// both number the same legs); see pipeline.hpp.
#include "schedule/fold/pipeline.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "schedule/fold/key_numbers.hpp"
#include "schedule/order/side_by_side.hpp"

namespace fourfold::inline schedule::inline fold {

namespace {

bool alike(const Body& a, const Body& b) {
  return a.steps == b.steps && a.events == b.events;
}
// Pairs of neighbours cost the same wherever they are.
bool alike(const Channel& a, const Channel& b) {
  if (a == b) return true;
  const auto one_of = [&](Group even, Group odd) {
    return (a.group == even || a.group == odd) && (b.group == even || b.group == odd);
  };
  return a.axis == b.axis && (one_of(Group::after_even, Group::after_odd) ||
                              one_of(Group::before_even, Group::before_odd));
}

template <typename Item>
bool alike(const std::vector<Item>& a, const std::vector<Item>& b) {
  return std::ranges::equal(a, b, [](const Item& x, const Item& y) { return alike(x, y); });
}

// But for their cycles.
bool alike(const Folded& a, const Folded& b) {
  return a.shapes == b.shapes && a.sizes == b.sizes && a.classes == b.classes &&
         a.bundles == b.bundles && a.collectives == b.collectives && a.persistent == b.persistent &&
         alike(a.channels, b.channels) && alike(a.bodies, b.bodies);
}

// A body by its posts and waits on channels along pipe, and whether nothing lies between them.
struct Divided {
  std::vector<FoldedStep> meets;
  std::vector<bool> empty;  // by part
};

std::vector<Divided> divided(const Folded& folded) {
  std::vector<Divided> result;
  for (const Body& body : folded.bodies) {
    Divided& own = result.emplace_back();
    own.empty.push_back(true);
    for (const FoldedStep& step : body.steps) {
      const bool meets = step.kind != IssueKind::compute &&
                         folded.channels[static_cast<std::size_t>(step.channel)].axis == Axis::pipe;
      if (meets) own.meets.push_back(step);
      if (meets) own.empty.push_back(true);
      if (!meets) own.empty.back() = false;
    }
  }
  return result;
}

// The number of the leg that is empty, in every kind.
constexpr std::int32_t no_leg = 0;

// Distinct legs and words of a kind.
class KindNumbers {
 public:
  KindNumbers(const Folded& folded, StageKind& kind)
      : divided(fourfold::divided(folded)), kind_(kind) {
    leg({});
  }

  std::int32_t leg(const Leg& leg) {
    key_.clear();
    for (const LegPart& part : leg) key_.insert(key_.end(), {part.body, part.part, part.repeats});
    const auto [number, fresh] = legs_.number(key_);
    if (fresh) kind_.legs.push_back(leg);
    return number;
  }
  std::int32_t word(const RunWord& word) {
    key_.clear();
    for (const BodyRun& run : word) key_.insert(key_.end(), {run.body, run.repeats});
    const auto [number, fresh] = words_.number(key_);
    if (fresh) kind_.words.push_back(word);
    return number;
  }
  std::int64_t posts(std::int32_t body) const {
    return std::ranges::count(divided[static_cast<std::size_t>(body)].meets, IssueKind::start,
                              &FoldedStep::kind);
  }

  std::vector<Divided> divided;  // by body

 private:
  StageKind& kind_;
  KeyNumbers<std::int64_t> legs_, words_;
  std::vector<std::int64_t> key_;
};

// What a stage does along pipe and the leg that follows it, before it is known when others come.
struct LoneStep {
  bool first = false;  // nothing but the leg
  FoldedStep step;
  std::int32_t leg = 0;
};

class Lone {
 public:
  Lone(const Folded& folded, KindNumbers& numbers) : numbers_(numbers) {
    for (const BodyCycle& cycle : folded.cycles) {
      for (std::int64_t i = 0; i < cycle.repeats; ++i) {
        for (const BodyRun& run : cycle.runs) add(run);
      }
    }
    close();
  }

  std::vector<LoneStep> steps;

 private:
  void add(const BodyRun& run) {
    const Divided& body = numbers_.divided[static_cast<std::size_t>(run.body)];
    if (body.meets.empty()) {
      append(body, {run.body, 0, run.repeats});
      return;
    }
    for (std::int64_t i = 0; i < run.repeats; ++i) {
      append(body, {run.body, 0, 1});
      for (std::size_t s = 0; s < body.meets.size(); ++s) {
        close();
        open_ = {false, body.meets[s], 0};
        append(body, {run.body, static_cast<std::int32_t>(s + 1), 1});
      }
    }
  }
  void append(const Divided& body, const LegPart& part) {
    if (body.empty[static_cast<std::size_t>(part.part)]) return;
    if (!leg_.empty() && leg_.back().body == part.body && leg_.back().part == part.part) {
      leg_.back().repeats += part.repeats;
    } else {
      leg_.push_back(part);
    }
  }
  void close() {
    open_.leg = numbers_.leg(leg_);
    steps.push_back(open_);
    leg_.clear();
  }

  KindNumbers& numbers_;
  Leg leg_;
  LoneStep open_{true, {}, 0};
};

// Puts the meetings of all stages in an order in which everything that is waited for comes first.
class Meet {
 public:
  Meet(const std::vector<Lone>& lone, const std::vector<std::vector<ChannelNumber>>& channels,
       const std::vector<Channel>& all)
      : lone_(lone), channels_(channels), stages_(lone.size()), groups_(all.size()) {
    const auto count = static_cast<std::int64_t>(lone.size());
    for (std::size_t c = 0; c < all.size(); ++c) {
      groups_[c].resize(lone.size());
      if (all[c].axis != Axis::pipe) continue;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::vector<std::int64_t> members = group(all[c], count, i);
        if (members.empty()) continue;
        PipeGroup& own = groups_[c][static_cast<std::size_t>(i)];
        own.first = static_cast<std::size_t>(std::ranges::min(members));
        own.members = members.size();
      }
    }
    for (OfStage& stage : stages_) stage.posts.resize(all.size());
    count_numbers();
  }

  bool order() {
    return side_by_side(
        lone_.size(), [&](std::size_t i) { return go_on(i); },
        [&](std::size_t i) { return stages_[i].next; });
  }

  std::vector<Meeting> meetings;
  std::vector<std::int32_t> beginnings{Meeting::no_wait};
  std::int32_t numbers = Meeting::no_post + 1;
  std::int32_t posts = Meeting::no_post + 1;

 private:
  // Of a channel, by its first stage; other members know only that.
  struct PipeGroup {
    std::size_t first = 0;
    std::size_t members = 0;
    std::int32_t base = 0;           // the number before the first
    std::vector<std::size_t> posts;  // of each
    std::size_t done = 0;
  };
  struct OfStage {
    std::size_t next = 0;
    std::vector<std::vector<Meeting::Act>> posts;  // by channel
  };

  PipeGroup& group_of(std::size_t channel, std::size_t stage) {
    std::vector<PipeGroup>& groups = groups_[channel];
    return groups[groups[stage].first];
  }
  std::size_t channel_of(const LoneStep& step, std::size_t stage) const {
    return static_cast<std::size_t>(channels_[stage][static_cast<std::size_t>(step.step.channel)]);
  }

  void count_numbers() {
    for (std::size_t i = 0; i < lone_.size(); ++i) {
      std::vector<std::size_t> own(groups_.size());
      for (const LoneStep& step : lone_[i].steps) {
        if (!step.first && step.step.kind == IssueKind::start) ++own[channel_of(step, i)];
      }
      for (std::size_t c = 0; c < own.size(); ++c) {
        if (own[c] == 0) continue;
        std::vector<std::size_t>& all = group_of(c, i).posts;
        if (all.size() < own[c]) all.resize(own[c]);
      }
    }
    for (std::vector<PipeGroup>& groups : groups_) {
      for (PipeGroup& group : groups) {
        if (group.posts.empty()) continue;
        group.base = numbers;
        beginnings.push_back(numbers);
        numbers += static_cast<std::int32_t>(group.posts.size()) + 1;
      }
    }
  }

  // As far as the next leg; true at the stage's end. Stages take turns often, so that what comes
  // next in the list seldom needs what has just been found: a processor does several at once.
  bool go_on(std::size_t i) {
    OfStage& stage = stages_[i];
    const std::vector<LoneStep>& steps = lone_[i].steps;
    bool went = false;
    for (; stage.next < steps.size(); ++stage.next) {
      const bool begins =
          steps[stage.next].first || steps[stage.next].step.kind != IssueKind::start;
      if (went && begins) return false;
      went = steps[stage.next].leg != no_leg;
      const LoneStep& step = steps[stage.next];
      if (step.first) {
        meeting(i, step);
        continue;
      }
      const std::size_t channel = channel_of(step, i);
      if (step.step.kind == IssueKind::start) {
        post(i, step, channel);
        continue;
      }
      const std::vector<Meeting::Act>& own = stage.posts[channel];
      const std::size_t number = own.size() - 1 - static_cast<std::size_t>(step.step.back);
      if (number >= group_of(channel, i).done) return false;
      Meeting& wait = meeting(i, step);
      wait.channel = static_cast<std::int16_t>(channel);
      wait.wait = own[number];
    }
    return true;
  }

  Meeting& meeting(std::size_t stage, const LoneStep& step) {
    Meeting& fresh = meetings.emplace_back();
    fresh.stage = static_cast<std::int16_t>(stage);
    fresh.leg = step.leg;
    return fresh;
  }

  // Right after a wait it makes one meeting with it.
  void post(std::size_t i, const LoneStep& step, std::size_t channel) {
    PipeGroup& group = group_of(channel, i);
    std::vector<Meeting::Act>& own = stages_[i].posts[channel];
    const bool joins = !meetings.empty() && meetings.back().stage == static_cast<std::int16_t>(i) &&
                       meetings.back().post.number == Meeting::no_post &&
                       meetings.back().leg == no_leg;
    Meeting& now = joins ? meetings.back() : meeting(i, step);
    now.leg = step.leg;
    const std::size_t number = own.size();
    now.post = {group.base + 1 + static_cast<std::int32_t>(number), posts++, step.step.index};
    own.push_back(now.post);
    if (++group.posts[number] == group.members) ++group.done;
  }

  const std::vector<Lone>& lone_;
  const std::vector<std::vector<ChannelNumber>>& channels_;  // by stage and its own number
  std::vector<OfStage> stages_;
  std::vector<std::vector<PipeGroup>> groups_;  // by channel and stage
};

std::vector<Channel> channels_of(const std::vector<Folded>& stages) {
  std::vector<Channel> channels = stages.front().channels;
  if (stages.size() == 1) return channels;
  for (const Folded& stage : stages) {
    for (const Channel& channel : stage.channels) {
      if (std::ranges::count(channels, channel) == 0) channels.push_back(channel);
    }
  }
  std::ranges::sort(channels, in_order);
  return channels;
}

// How often a stage does what; added to the set's.
void add_times(const Folded& folded, StageSet& set) {
  std::vector<std::int64_t> bodies(folded.bodies.size());
  for (const BodyCycle& cycle : folded.cycles) {
    for (const BodyRun& run : cycle.runs) {
      bodies[static_cast<std::size_t>(run.body)] += run.repeats * cycle.repeats;
    }
  }
  set.classes.resize(folded.classes.size());
  set.collectives.resize(folded.collectives.size());
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    for (const FoldedStep& step : folded.bodies[b].steps) {
      const auto index = static_cast<std::size_t>(step.index);
      if (step.kind == IssueKind::start) set.collectives[index] += bodies[b];
      if (step.kind != IssueKind::compute) continue;
      for (std::int32_t c : folded.bundles[index]) {
        set.classes[static_cast<std::size_t>(c)] += bodies[b];
      }
    }
  }
}

// Cuts cycles into words. A word ends with its fourth post for other stages: what a stage gets and
// gives for a forward and a backward, so that equal words follow each other.
class Words {
 public:
  explicit Words(KindNumbers& numbers) : numbers_(numbers) {}

  std::vector<WordCycle> of(const Folded& folded) && {
    for (const BodyCycle& cycle : folded.cycles) {
      if (cycle.repeats > 1) close();
      for (const BodyRun& run : cycle.runs) add(run);
      if (cycle.repeats == 1) continue;
      close();
      cycles_.back().repeats = cycle.repeats;
    }
    close();
    return std::move(cycles_);
  }

 private:
  void add(const BodyRun& run) {
    word_.push_back(run);
    posts_ += numbers_.posts(run.body);
    if (posts_ >= 4) end_word();
  }
  void end_word() {
    if (word_.empty()) return;
    const std::int32_t word = numbers_.word(word_);
    if (!open_.empty() && open_.back().word == word) {
      ++open_.back().repeats;
    } else {
      open_.push_back({word, 1});
    }
    word_.clear();
    posts_ = 0;
  }
  void close() {
    end_word();
    if (!open_.empty()) cycles_.push_back({std::move(open_), 1});
    open_.clear();
  }

  KindNumbers& numbers_;
  RunWord word_;
  std::int64_t posts_ = 0;
  std::vector<WordCycle::Run> open_;
  std::vector<WordCycle> cycles_;
};

}  // namespace

Pipeline::Pipeline(std::vector<Folded> stages)
    : stages_(std::move(stages)), channels_(channels_of(stages_)) {
  std::vector<std::vector<ChannelNumber>> channels;  // by stage and its own number
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const auto known = std::ranges::find_if(kinds_, [&](const StageKind& kind) {
      return alike(stages_[static_cast<std::size_t>(kind.stage)], stages_[i]);
    });
    kind_of_.push_back(static_cast<std::int32_t>(known - kinds_.begin()));
    if (known == kinds_.end()) kinds_.push_back({static_cast<std::int32_t>(i), {}, {}});
    std::vector<ChannelNumber>& own = channels.emplace_back();
    for (const Channel& channel : stages_[i].channels) {
      const auto found = std::ranges::find(channels_, channel);
      own.push_back(static_cast<ChannelNumber>(found - channels_.begin()));
    }
    auto set = std::ranges::find_if(
        sets_, [&](const StageSet& s) { return s.kind == kind_of_[i] && s.channels == own; });
    if (set == sets_.end()) set = sets_.insert(set, {kind_of_[i], own, {}, {}, {}});
    set->stages.push_back(static_cast<std::int32_t>(i));
    add_times(stages_[i], *set);
  }
  std::vector<KindNumbers> numbers;
  numbers.reserve(kinds_.size());
  for (StageKind& kind : kinds_) {
    numbers.emplace_back(stages_[static_cast<std::size_t>(kind.stage)], kind);
  }
  std::vector<Lone> lone;
  lone.reserve(stages_.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    KindNumbers& own = numbers[index_of_kind(i)];
    lone.emplace_back(stages_[i], own);
    cycles_.push_back(Words(own).of(stages_[i]));
  }
  // In which sequence a ready-queue meets others is decided while it runs.
  if (stages_.front().ready.limit > 0) return;
  Meet meet(lone, channels, channels_);
  if (!meet.order()) {
    throw std::invalid_argument(
        "The stages of the pipeline wait for each other for ever: a send or a receive of the "
        "order stands in the wrong place.");
  }
  meetings_ = std::move(meet.meetings);
  for (StageKind& kind : kinds_) kind.times.resize(kind.legs.size());
  for (const Meeting& meeting : meetings_) {
    StageKind& kind = kinds_[index_of_kind(static_cast<std::size_t>(meeting.stage))];
    ++kind.times[static_cast<std::size_t>(meeting.leg)];
  }
  beginnings_ = std::move(meet.beginnings);
  numbers_ = static_cast<std::size_t>(meet.numbers);
  posts_ = static_cast<std::size_t>(meet.posts);
}

}  // namespace fourfold::inline schedule::inline fold
