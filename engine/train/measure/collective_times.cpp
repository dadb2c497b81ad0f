// Which collectives are timed at which sizes; see collective_times.hpp.
#include "engine/train/measure/collective_times.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/cpu/gemm_kernels.hpp"
#include "engine/cpu/reference_product.hpp"
#include "engine/host_memory.hpp"
#include "support/wall_clock.hpp"

namespace fourfold::inline engine::inline train::inline measure {
namespace {

constexpr std::int64_t smallest = 1 << 10, largest = 16 << 20, factor = 4;
constexpr std::int64_t sizes = 8;

// 2, 4, ... and all ranks.
std::vector<std::int64_t> groups(std::int64_t ranks) {
  std::vector<std::int64_t> members;
  for (std::int64_t size = 2; size < ranks; size *= 2) {
    if (ranks % size == 0) members.push_back(size);
  }
  if (ranks > 1) members.push_back(ranks);
  return members;
}

// From a common start to the end of the slowest rank.
double seconds_of(const World& world, const std::function<void()>& work) {
  world.barrier();
  const double start = wall_seconds();
  work();
  return std::ranges::max(world.all(wall_seconds() - start));
}

Timing together_timed(const World& world, const std::function<void()>& work, double patience) {
  constexpr int warm_up = 3;
  constexpr double least = 7.0, most = 300.0;
  double last = 0.0;
  for (int i = 0; i < warm_up; ++i) last = seconds_of(world, work);
  const auto count =
      static_cast<std::int64_t>(std::clamp(patience / std::max(last, 1e-7), least, most));
  Times times;
  for (std::int64_t i = 0; i < count; ++i) times.push_back(seconds_of(world, work));
  return timing_of(times);
}

// A channel whose groups have so many of the ranks, all of them with one.
class Line {
 public:
  Line(std::int64_t ranks, std::int64_t members, CollectiveKind kind, TransportKind transport)
      : channel_{row_of(kind).motion == Motion::one_way ? Axis::pipe : Axis::x, "",
                 row_of(kind).motion == Motion::one_way ? Group::after_even : Group::line},
        channels_(row_of(kind).motion == Motion::one_way
                      ? ProcessGrid(1, 1, 1, ranks / members, members)
                      : ProcessGrid(members, 1, 1, ranks / members),
                  {channel_}, transport, ProgressMode::tiles, memory_) {}

  Communicator& operator*() { return channels_[channel_]; }
  Channels& channels() { return channels_; }

 private:
  Channel channel_;
  HostMemory memory_;
  Channels channels_;
};

// Those that libraries are tuned by, and messages.
bool is_timed(const KindRow& row) {
  return row.motion == Motion::around || row.motion == Motion::one_way;
}

class Buffers {
 public:
  Buffers(CollectiveKind kind, std::int64_t bytes, std::int64_t members)
      : whole_(static_cast<std::size_t>(bytes / 4), 1.0F), other_(whole_.size(), 2.0F) {
    const std::int64_t all = std::ssize(whole_);
    call_ = {kind, Owed::sum, tensor(whole_, elements_of(row_of(kind).brings, all, members)),
             tensor(other_, elements_of(row_of(kind).gets, all, members))};
  }
  const CollectiveCall& call() const { return call_; }

 private:
  static Tensor tensor(std::vector<float>& numbers, std::int64_t elements) {
    return {reinterpret_cast<std::byte*>(numbers.data()), 1, elements, Precision::fp32};
  }

  std::vector<float> whole_, other_;
  CollectiveCall call_;
};

}  // namespace

std::int64_t collective_measurements(std::int64_t ranks) {
  return std::ssize(groups(ranks)) * std::ssize(around_rows) * sizes + (ranks > 1 ? sizes : 0);
}

void measure_collectives(Measurements& measurements, TransportKind transport) {
  const World& world = measurements.world();
  for (const std::int64_t members : groups(world.size())) {
    for (const KindRow& row : collective_rows) {
      const CollectiveKind kind = row.kind;
      if (!is_timed(row) || (row.motion == Motion::one_way && members > 2)) continue;
      Line line(world.size(), members, kind, transport);
      for (std::int64_t bytes = smallest; bytes <= largest; bytes *= factor) {
        measurements.want({{"kind", "collective"},
                           {"name", name(kind)},
                           {"transport", name(transport)},
                           {"members", members},
                           {"bytes", bytes}},
                          [&] {
                            const Buffers buffers(kind, bytes, members);
                            (*line).prepare({buffers.call()});
                            return together_timed(
                                world, [&] { (*line).finish((*line).start(buffers.call())); }, 0.2);
                          });
      }
    }
  }
}

std::int64_t overlap_measurements() {
  return 3;
}

void measure_overlap(Measurements& measurements, TransportKind transport) {
  const World& world = measurements.world();
  if (world.size() == 1) return;
  constexpr std::int64_t bytes = 4 << 20;
  Line line(world.size(), world.size(), CollectiveKind::all_reduce, transport);
  const Buffers buffers(CollectiveKind::all_reduce, bytes, world.size());
  (*line).prepare({buffers.call()});
  const TensorProduct shape = tensors_of({GemmForm::nn, 1040, 320, 1040});
  std::array<std::vector<float>, 3> numbers;
  TensorProduct product = shape;
  std::size_t slot = 0;
  for (Tensor* t : {&product.a, &product.b, &product.out}) {
    numbers.at(slot).assign(static_cast<std::size_t>(t->size()), 0.5F);
    t->data = reinterpret_cast<std::byte*>(numbers.at(slot++).data());
  }
  GemmKernels kernels;
  Scratch scratch;
  const GemmKernel kernel = untuned(product_of(product));
  const auto compute = [&] {
    kernels.multiply(product, kernel, scratch, [&] { line.channels().between_tiles(); });
  };
  const std::array<std::pair<const char*, std::function<void()>>, 3> asked{{
      {"product", compute},
      {"all-reduce", [&] { (*line).finish((*line).start(buffers.call())); }},
      {"both",
       [&] {
         const Post post = (*line).start(buffers.call());
         compute();
         (*line).finish(post);
       }},
  }};
  // In turns, so that all three feel the same neighbours.
  std::array<Times, 3> times;
  Times references;
  ReferenceProduct reference;
  const auto timed_in_turns = [&] {
    constexpr int rounds = 60;
    for (int round = 0; round < rounds; ++round) {
      references.push_back(reference.seconds());
      for (std::size_t i = 0; i < asked.size(); ++i) {
        times[i].push_back(seconds_of(world, asked[i].second));
      }
    }
  };
  for (std::size_t i = 0; i < asked.size(); ++i) {
    measurements.want({{"kind", "overlap"},
                       {"name", asked[i].first},
                       {"transport", name(transport)},
                       {"bytes", bytes}},
                      [&] {
                        if (times[i].empty()) timed_in_turns();
                        Timing timing = timing_of(times[i]);
                        timing.reference = on_all_ranks(world, references).median;
                        return timing;
                      });
  }
}

}  // namespace fourfold::inline engine::inline train::inline measure
