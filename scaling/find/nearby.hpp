// What a question without an answer could ask instead: device counts and batches nearby that fit.
#pragma once

#include <string>

#include "platforms/platform.hpp"
#include "scaling/records/question.hpp"

namespace fourfold::inline scaling::inline find {

// "3888 or 4096 devices would fit, and so would 4000 devices with a batch of 8192000 tokens (4000
// sequences)"; empty if nothing nearby does. What is named was searched, memory included.
std::string nearby(const Question& question, const Platform& platform);

}  // namespace fourfold::inline scaling::inline find
