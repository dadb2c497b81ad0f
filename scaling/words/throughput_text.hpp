// Flop/s in units, MFU, HFU, tokens and device-hours as sentences and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/question/throughput.hpp"

namespace fourfold::inline scaling::inline words {

// Two lines, and what MFU and HFU count.
std::string throughput_text(const Throughput& throughput);

// "A run of 2T tokens takes 37.6 days and 29.6M device-hours, ...": a line; empty without tokens.
std::string run_text(const Throughput& throughput, double tokens);
nlohmann::json json_of_run(const Throughput& throughput, double tokens);

// Shares, tokens, days and hours, with what they count.
nlohmann::json json_of(const Throughput& throughput);

struct RateUnit {
  const char* name;
  FlopsPerSecond one;
};

// The unit asked for, or a smaller one where the largest rate to be told is less than a tenth of
// it.
RateUnit unit_for(FlopsPerSecond largest, RateUnit asked);
constexpr RateUnit petaflops{"Pflop/s", {1e15}};
constexpr RateUnit teraflops{"Tflop/s", {1e12}};

// "12.3 Pflop/s", in such a unit.
std::string rate_text(FlopsPerSecond rate, RateUnit asked);

// "131", "1234", "12.3k", "4.56M": from 10,000 on with a letter for the thousands.
std::string short_number(double value);

}  // namespace fourfold::inline scaling::inline words
