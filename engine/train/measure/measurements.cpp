// The file of measurements; see measurements.hpp.
#include "engine/train/measure/measurements.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/mpi/session.hpp"
#include "engine/train/run/agreement.hpp"
#include "support/clock_text.hpp"
#include "support/foreign_load.hpp"
#include "support/json_text.hpp"
#include "support/own_file.hpp"
#include "support/processor_name.hpp"
#include "support/wall_clock.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline engine::inline train::inline measure {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &local)};
}

// Empty where there is no such file yet.
std::string text_if_any(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown) ? read_whole_file(path, "the measurements in") : "";
}

// Whatever order its entries stand in.
std::string identity_of(const nlohmann::json& what) {
  return json_text(what);
}

// The last line may have been cut off when a run was ended.
std::set<std::string> identities(const std::string& text, const std::string& path) {
  std::set<std::string> known;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const std::optional<nlohmann::json> object = json_in(line);
    if (!object && lines.peek() == std::char_traits<char>::eof()) break;
    if (!object || !object->contains("what") || !object->contains("seconds")) {
      throw FailedTogether(path + " is no file of measurements; name another one");
    }
    known.insert(identity_of(object->at("what")));
  }
  return known;
}

double quantile(const Times& sorted, double share) {
  return sorted[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

// What asking for the time takes: as long as a short kernel.
double seconds_of_the_clock() {
  Times times;
  for (int i = 0; i < 1000; ++i) {
    const double start = processor_seconds();
    times.push_back(processor_seconds() - start);
  }
  return timing_of(times).median;
}

constexpr double shortest = 1e-9;

// More than a core's own caches hold.
constexpr std::size_t other_bytes = std::size_t{4} << 20;

void use_other_memory() {
  static std::vector<char> other(other_bytes, 1);
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < other.size(); i += line) ++other[i];
}

}  // namespace

Timing timing_of(Times times) {
  std::sort(times.begin(), times.end());
  return {quantile(times, 0.5), quantile(times, 0.25), quantile(times, 0.75),
          static_cast<std::int64_t>(times.size()), 0.0};
}

Measurements::Measurements(const World& world, std::string path, std::string activity)
    : world_(world),
      path_(std::move(path)),
      activity_(std::move(activity)),
      began_(wall_seconds()) {
  const std::string text = from_first_rank([&] { return text_if_any(path_); });
  known_ = identities(text, path_);
  together([&] {
    if (world_.rank() != 0) return;
    // A line that was cut off must not spoil the next.
    if (!text.empty() && text.back() != '\n') {
      std::filesystem::resize_file(path_, text.find_last_of('\n') + 1);
    }
    ::close(open_own_file(path_, O_WRONLY | O_CREAT | O_APPEND));
  });
}

void Measurements::want(nlohmann::ordered_json what, const std::function<Timing()>& measure) {
  ++seen_;
  what["ranks"] = world_.size();
  if (known_.contains(identity_of(what))) return;
  keep(what, undisturbed(measure));
  ++made_;
  say();
}

Measurements::Measured Measurements::measured(const std::function<Timing()>& measure) {
  const ForeignLoad load;
  const double own = own_processor_seconds();
  const double before = reference_.seconds();
  Measured result{measure(), 0.0, 0.0};
  const std::vector<double> numbers{0.5 * (before + reference_.seconds()),
                                    own_processor_seconds() - own};
  const std::vector<double> all = world_.all(numbers);
  double ours = 0.0;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    result.reference += all[i] / static_cast<double>(world_.size());
    ours += all[i + 1];
  }
  if (result.timing.reference > 0.0) result.reference = result.timing.reference;
  result.foreign_cores = world_.all(load.cores(ours)).front();
  return result;
}

Measurements::Measured Measurements::undisturbed(const std::function<Timing()>& measure) {
  constexpr int most_times = 6;
  constexpr double disturbing = 0.25;
  Measured best = measured(measure);
  for (int time = 1; time < most_times && best.foreign_cores > disturbing; ++time) {
    const Measured again = measured(measure);
    if (again.foreign_cores < best.foreign_cores) best = again;
  }
  return best;
}

void Measurements::keep(const nlohmann::ordered_json& what, const Measured& measured) {
  const Timing& timing = measured.timing;
  known_.insert(identity_of(what));
  if (world_.rank() != 0) return;
  const nlohmann::ordered_json line{
      {"what", what},
      {"seconds", timing.median},
      {"low", timing.low},
      {"high", timing.high},
      {"n", timing.repetitions},
      {"reference_s", measured.reference},
      {"foreign_cores", std::round(100.0 * measured.foreign_cores) / 100.0},
      {"date", today()},
      {"processor", recorded_processor()}};
  append_own_line(path_, line.dump());
}

void Measurements::say() {
  constexpr double between = 1.0;
  if (world_.rank() != 0 || (wall_seconds() - said_ < between && seen_ < all_)) return;
  said_ = wall_seconds();
  const auto left = static_cast<double>(all_ - seen_);
  fmt::print(stderr, "{}: {} of {}, {} left\n", activity_, seen_, all_,
             clock_text((wall_seconds() - began_) / static_cast<double>(made_) * left));
}

Times repeated(const std::function<void()>& work, const TimingPatience& patience) {
  static const double of_the_clock = seconds_of_the_clock();
  Times times;
  work();
  const double began = wall_seconds();
  do {
    use_other_memory();
    const double start = processor_seconds();
    work();
    times.push_back(std::max(processor_seconds() - start - of_the_clock, shortest));
  } while (static_cast<std::int64_t>(times.size()) < patience.least ||
           wall_seconds() - began < patience.seconds);
  return times;
}

Timing on_all_ranks(const World& world, const Times& own) {
  return on_all_ranks(world, timing_of(own));
}

Timing on_all_ranks(const World& world, const Timing& own) {
  Timing sum;
  for (const Timing& one : world.all(own)) {
    sum.median += one.median;
    sum.low += one.low;
    sum.high += one.high;
    sum.repetitions += one.repetitions;
    sum.reference += one.reference;
  }
  const auto ranks = static_cast<double>(world.size());
  return {sum.median / ranks, sum.low / ranks, sum.high / ranks, sum.repetitions / world.size(),
          sum.reference / ranks};
}

}  // namespace fourfold::inline engine::inline train::inline measure
