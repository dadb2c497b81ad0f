// Rounds and joins; see throughput_text.hpp.
#include "scaling/words/throughput_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/prose.hpp"

namespace fourfold::inline scaling::inline words {

RateUnit unit_for(FlopsPerSecond largest, RateUnit asked) {
  constexpr RateUnit gigaflops{"Gflop/s", {1e9}};
  for (const RateUnit& unit : {petaflops, teraflops}) {
    if (unit.one <= asked.one && largest >= unit.one * 0.1) return unit;
  }
  return gigaflops;
}

std::string rate_text(FlopsPerSecond rate, RateUnit asked) {
  const RateUnit unit = unit_for(rate, asked);
  return fmt::format("{:.1f} {}", rate / unit.one, unit.name);
}

std::string short_number(double value) {
  const char* letters[]{"", "k", "M", "G", "T"};
  std::size_t thousands = 0;
  const bool short_enough = value < 9999.5;
  while (!short_enough && value >= 999.5 && thousands < 4) {
    value /= 1000.0;
    ++thousands;
  }
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, digits, letters[thousands]);
}

std::string throughput_text(const Throughput& throughput) {
  return fmt::format("MFU {:.1f} %, HFU {:.1f} %; {} tokens/s, {} a device;\n",
                     100.0 * throughput.mfu, 100.0 * throughput.hfu,
                     short_number(throughput.tokens_per_s),
                     short_number(throughput.tokens_per_s_per_device)) +
         fmt::format("{} days and {} device-hours for a trillion tokens.\n",
                     short_number(throughput.days_per_trillion_tokens),
                     short_number(throughput.device_hours_per_trillion_tokens)) +
         wrapped(throughput_conventions) + '\n';
}

std::string run_text(const Throughput& throughput, double tokens) {
  if (tokens <= 0.0) return "";
  const double trillions = tokens / 1e12;
  std::string amount = short_number(tokens);
  if (amount.back() == 'G') amount.back() = 'B';  // billions of tokens
  return fmt::format(
      "A run of {} tokens takes {:.1f} days and {} device-hours, without failures and "
      "checkpoints.\n",
      amount, throughput.days_per_trillion_tokens * trillions,
      short_number(throughput.device_hours_per_trillion_tokens * trillions));
}

nlohmann::json json_of_run(const Throughput& throughput, double tokens) {
  const double trillions = tokens / 1e12;
  return {{"tokens", tokens},
          {"days", throughput.days_per_trillion_tokens * trillions},
          {"device_hours", throughput.device_hours_per_trillion_tokens * trillions}};
}

nlohmann::json json_of(const Throughput& throughput) {
  return {{"convention", throughput_conventions},
          {"mfu", throughput.mfu},
          {"hfu", throughput.hfu},
          {"tokens_per_s", throughput.tokens_per_s},
          {"tokens_per_s_per_device", throughput.tokens_per_s_per_device},
          {"days_per_trillion_tokens", throughput.days_per_trillion_tokens},
          {"device_hours_per_trillion_tokens", throughput.device_hours_per_trillion_tokens}};
}

}  // namespace fourfold::inline scaling::inline words
