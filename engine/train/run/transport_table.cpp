// Columns of transports; see transport_table.hpp.
#include "engine/train/run/transport_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fourfold::inline engine::inline train::inline run {

namespace {

std::string size_text(std::int64_t bytes) {
  if (bytes < 1 << 20) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024.0);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1048576.0);
}

}  // namespace

std::string table(const std::vector<TransportChoice>& choices) {
  std::string result = fmt::format("{:<12} {:<15} {:<5} {:>7} {:>11}", "channel", "collective", "",
                                   "members", "whole");
  constexpr std::array<TransportKind, 3> candidates{TransportKind::ring, TransportKind::window,
                                                    TransportKind::library};
  for (TransportKind candidate : candidates) result += fmt::format(" {:>8}", name(candidate));
  result += "  fastest\n";
  for (const TransportChoice& choice : choices) {
    const ChosenCollective& c = choice.collective;
    result += fmt::format("{:<12} {:<15} {:<5} {:>7} {:>11}", choice.channel, name(c.kind),
                          name(c.precision), c.members, size_text(c.bytes()));
    for (TransportKind candidate : candidates) {
      const auto found = std::ranges::find(choice.timings, candidate, &TransportTiming::transport);
      if (found == choice.timings.end()) {
        result += fmt::format(" {:>8}", "-");
      } else {
        const double bus =
            part_sent(c.kind, c.members) * static_cast<double>(c.bytes()) / found->seconds * 1e-9;
        result += fmt::format(" {:>8.3g}", bus);
      }
    }
    result += fmt::format("  {}\n", name(choice.transport));
  }
  return result;
}

}  // namespace fourfold::inline engine::inline train::inline run
