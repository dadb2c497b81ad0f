// Columns of transports; see transport_table.hpp.
#include "engine/train/run/transport_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "support/binary_size.hpp"

namespace fourfold::inline engine::inline train::inline run {

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
                          name(c.precision), c.members, size_text(static_cast<double>(c.bytes())));
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
