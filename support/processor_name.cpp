// Reads /proc/cpuinfo; see processor_name.hpp.
#include "support/processor_name.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace fourfold::inline support {

std::optional<std::string> processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return std::nullopt;
}

std::string recorded_processor() {
  return processor_name().value_or("unknown processor");
}

bool says_virtual(const std::string& cpuinfo) {
  const std::size_t flags = cpuinfo.find("\nflags");
  if (flags == std::string::npos) return false;
  std::istringstream words(cpuinfo.substr(flags, cpuinfo.find('\n', flags + 1) - flags));
  return std::find(std::istream_iterator<std::string>(words), {}, "hypervisor") !=
         std::istream_iterator<std::string>();
}

bool on_virtual_machine() {
  std::ifstream file("/proc/cpuinfo");
  return says_virtual({std::istreambuf_iterator<char>(file), {}});
}

}  // namespace fourfold::inline support
