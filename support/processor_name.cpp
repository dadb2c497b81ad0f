// The first "model name" of /proc/cpuinfo; see processor_name.hpp.
#include "support/processor_name.hpp"

#include <fstream>

namespace fourfold {

std::optional<std::string> processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return std::nullopt;
}

}  // namespace fourfold
