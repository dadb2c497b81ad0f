// Reads the hook's words; see slow_down.hpp.
#include "bench/measure/slow_down.hpp"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace fourfold::inline bench::inline measure {

double repeated_share(const std::string& work, std::int64_t rank) {
  const char* const words = std::getenv("FOURFOLD_BENCH_REPEAT");
  return words == nullptr ? 0.0 : repeated_share(words, work, rank);
}

double repeated_share(const std::string& words, const std::string& work, std::int64_t rank) {
  std::istringstream list(words);
  double share = 0.0;
  for (std::string entry; std::getline(list, entry, ',');) {
    const std::size_t equals = entry.find('=');
    char* end = nullptr;
    const double value =
        equals == std::string::npos ? -1.0 : std::strtod(entry.c_str() + equals + 1, &end);
    const bool every_rank = end != nullptr && *end == '\0';
    if (value < 0.0 || (!every_rank && *end != '@')) {
      throw std::runtime_error("FOURFOLD_BENCH_REPEAT: '" + entry +
                               "' is no WORK=SHARE or WORK=SHARE@RANK");
    }
    if (entry.compare(0, equals, work) != 0) continue;
    if (every_rank || std::strtoll(end + 1, nullptr, 10) == rank) share = value;
  }
  return share;
}

}  // namespace fourfold::inline bench::inline measure
