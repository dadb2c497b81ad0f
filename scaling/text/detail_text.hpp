// What only a simulation knows, as tables: the load of links and who waits for whom.
#pragma once

#include <string>

#include "scaling/words/text_table.hpp"
#include "sim/question/replay_detail.hpp"

namespace fourfold::inline scaling::inline text {

// Tables, each followed by an empty line; empty if there is nothing to say.
std::string detail_text(const ReplayDetail& detail, const std::vector<Channel>& channels,
                        Width width = Width::page);

}  // namespace fourfold::inline scaling::inline text
