// Words and sentences about what-ifs; see what_ifs.hpp.
#include "sim/conditions/what_ifs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace fourfold::inline sim::inline conditions {
namespace {

constexpr std::int64_t most_numbers = 10'000'000;  // so that "0-999999999999" is refused at once

std::int64_t number_in(const std::string& word, const std::string& all) {
  std::int64_t number = 0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 0) {
    throw std::runtime_error(fmt::format(
        "'{}' in '{}' is no number of 0 or more; write numbers and ranges such as 0-7,12", word,
        all.substr(0, 40)));
  }
  return number;
}

std::string few_of(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t shown = 8;
  std::string text = fmt::format(
      "{}", fmt::join(numbers.begin(), numbers.begin() + std::min(shown, numbers.size()), ", "));
  if (numbers.size() > shown) text += fmt::format(" and {} more", numbers.size() - shown);
  return text;
}

std::string placement_sentence(const WhatIfs& what_ifs) {
  switch (what_ifs.placement.by) {
    case Placing::packed:
      break;
    case Placing::spread:
      return "nodes are dealt out to the groups of the network in turn";
    case Placing::random:
      return fmt::format("nodes are drawn at random from the whole machine (seed {})",
                         what_ifs.seed);
    case Placing::nodes:
      return fmt::format("the job lies on nodes {}", few_of(what_ifs.placement.list));
    case Placing::devices:
      return fmt::format("the job lies on devices {}", few_of(what_ifs.placement.list));
  }
  return "";
}

std::string slow_sentence(const SlowDevices& slow, const std::vector<std::int64_t>& chosen) {
  if (!slow.devices.empty()) {
    return fmt::format("device{} {} compute{} at {:g} of the speed",
                       slow.devices.size() == 1 ? "" : "s", few_of(slow.devices),
                       slow.devices.size() == 1 ? "s" : "", slow.speed);
  }
  return fmt::format("{} device{} at {:g} of the speed: rank{} {}", chosen.size(),
                     chosen.size() == 1 ? " computes" : "s compute", slow.speed,
                     chosen.size() == 1 ? "" : "s", few_of(chosen));
}

std::vector<std::string> slow_sentences(const SlowDevices& slow, std::int64_t ranks) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<SlowRanks> counted = counted_slow_ranks(slow, std::move(all));
  std::vector<std::string> said{slow_sentence(slow, counted.front().ranks)};
  for (std::size_t i = 0; i < slow.besides.size(); ++i) {
    said.push_back(slow_sentence(slow.besides[i], counted[i + 1].ranks));
  }
  return said;
}

}  // namespace

const char* name(Placing placing) {
  constexpr const char* names[]{"packed", "spread", "random", "nodes", "devices"};
  return names[static_cast<int>(placing)];
}

std::string words_of(const std::vector<std::int64_t>& numbers) {
  std::string words;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    words += fmt::format("{}{}", words.empty() ? "" : ",", numbers[i]);
    if (last > i) words += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return words;
}

std::vector<std::int64_t> numbers_in(const std::string& words) {
  std::vector<std::int64_t> numbers;
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ',');) {
    const std::size_t dash = word.find('-');
    const std::int64_t first = number_in(word.substr(0, dash), words);
    const std::int64_t last =
        dash == std::string::npos ? first : number_in(word.substr(dash + 1), words);
    if (last < first) {
      throw std::runtime_error(fmt::format("the range '{}' goes down; write it upwards", word));
    }
    if (last - first >= most_numbers) {
      throw std::runtime_error(fmt::format("the range '{}' is longer than any machine", word));
    }
    for (std::int64_t number = first; number <= last; ++number) numbers.push_back(number);
  }
  if (numbers.empty()) throw std::runtime_error("a list of numbers is empty");
  return numbers;
}

std::vector<std::int64_t> evenly_spread_ranks(std::int64_t count, std::int64_t ranks) {
  if (count > ranks) {
    throw std::runtime_error(
        fmt::format("{} slow devices are more than the {} of the job", count, ranks));
  }
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back((2 * i + 1) * ranks / (2 * count));
  return chosen;
}

std::vector<SlowRanks> counted_slow_ranks(const SlowDevices& slow, std::vector<std::int64_t> free) {
  const auto ranks = static_cast<std::int64_t>(free.size());
  std::vector<SlowRanks> all;
  const auto add = [&](const SlowDevices& one) {
    std::int64_t count = one.count;
    if (one.percent > 0.0) {
      count = std::llround(one.percent / 100.0 * static_cast<double>(ranks));
      if (count == 0) {
        throw std::runtime_error(
            fmt::format("{:g} % of {} devices are less than one; name a COUNT:SPEED instead",
                        one.percent, ranks));
      }
    }
    SlowRanks& chosen = all.emplace_back(SlowRanks{{}, one.speed});
    for (std::int64_t at : evenly_spread_ranks(count, static_cast<std::int64_t>(free.size()))) {
      chosen.ranks.push_back(free[static_cast<std::size_t>(at)]);
    }
    std::erase_if(
        free, [&](std::int64_t rank) { return std::ranges::binary_search(chosen.ranks, rank); });
  };
  add(slow);
  for (const SlowDevices& one : slow.besides) add(one);
  return all;
}

std::vector<std::string> sentences(const WhatIfs& what_ifs, std::int64_t ranks) {
  std::vector<std::string> all;
  if (what_ifs.placement.by != Placing::packed) all.push_back(placement_sentence(what_ifs));
  if (what_ifs.draws_spreads) {
    all.push_back(fmt::format(
        "each device and each repetition of a kernel draws its speed from the machine's spreads "
        "(seed {})",
        what_ifs.seed));
  }
  if (what_ifs.jitter_percent > 0.0) {
    all.push_back(
        fmt::format("compute steps vary by {:g} % (standard deviation, lognormal, by rank "
                    "and step; seed {})",
                    what_ifs.jitter_percent, what_ifs.seed));
  }
  if (!what_ifs.slow_devices.none()) {
    std::ranges::move(slow_sentences(what_ifs.slow_devices, ranks), std::back_inserter(all));
  }
  for (const Degradation& fault : what_ifs.degrade) {
    all.push_back(fmt::format("link {} has {:g} of its bandwidth", fault.link, fault.speed));
  }
  for (const Failure& fault : what_ifs.fail) {
    all.push_back(fmt::format(
        "{} of link {} failed",
        fault.cables == 1 ? "1 cable" : fmt::format("{} cables", fault.cables), fault.link));
  }
  for (const Background& other : what_ifs.background) {
    all.push_back(
        fmt::format("other jobs take {:g} % of every {} link", other.percent, other.kind));
  }
  if (what_ifs.collective.algorithm) {
    all.push_back(fmt::format("collectives that can use {}", name(what_ifs.collective)));
  }
  return all;
}

}  // namespace fourfold::inline sim::inline conditions
