// MFU, HFU, tokens and device-hours as sentences and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/question/throughput.hpp"

namespace fourfold {

// Two lines, and what MFU and HFU count.
std::string throughput_text(const Throughput& throughput);

// Shares, tokens, days and hours, with what they count.
nlohmann::json json_of(const Throughput& throughput);

// "131", "1234", "12.3k", "4.56M": from 10,000 on with a letter for the thousands.
std::string short_number(double value);

}  // namespace fourfold
