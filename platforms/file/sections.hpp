// The parts of a platform file below its root table.
#pragma once

#include "platforms/file/fact_table.hpp"
#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline file {

// The scale that stands for the links between the largest parts of a network, whatever keys give
// their bandwidth.
inline constexpr const char* global_bandwidth_scale = "network.global_bandwidth";

Processor read_processor(const FactTable& root);
Node read_node(const FactTable& root);
Network read_network(const FactTable& root);
CollectiveLibrary read_library(const FactTable& root);
// What a file of another library says instead of the machine's: its name, what was measured of it,
// its cliff. Facts of the sheet follow.
void replace_library(const std::string& path, FactSheet& sheet, CollectiveLibrary& library);
// Its numbers stay facts: see platforms/operation.hpp.
void read_operation(const FactTable& root);

}  // namespace fourfold::inline platforms::inline file
