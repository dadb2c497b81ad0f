// What-ifs as people write them, in campaigns and on the command line: the words of
// sim/conditions/what_ifs.hpp, and placements that are listed in a file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "sim/conditions/what_ifs.hpp"

namespace fourfold::inline scaling::inline words {

// `words` by the keys that points have. Besides, a placement may be "nodes:FILE" or "devices:FILE",
// FILE being looked for in `folder` unless its path is absolute; nodes may be hosts
// (host_list.hpp), of which "nodes:FILE,of=ALL" and "nodes:FILE,first=HOST" say where in the
// machine they are. Throws std::runtime_error with a sentence on anything unknown or impossible.
WhatIfs what_ifs_in(nlohmann::json words, const Platform& platform, const std::string& folder);

// The numbers of a list: one a line, in the order of the job; empty lines and what follows a # do
// not count. Numbers are below `limit` and none comes twice: otherwise throws std::runtime_error
// with the line. `what` is "node" or "device".
std::vector<std::int64_t> read_placement_list(const std::string& path, const std::string& what,
                                              std::int64_t limit);

}  // namespace fourfold::inline scaling::inline words
