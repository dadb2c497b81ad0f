// Names and the table of choices; see transport_choice.hpp.
#include "engine/mpi/transport_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace fourfold {

namespace {

constexpr std::array<const char*, 4> names{"ring", "library", "window", "auto"};

std::string size_text(std::int64_t bytes) {
  if (bytes < 1 << 20) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024.0);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1048576.0);
}

}  // namespace

const char* name(Transport transport) {
  return names[static_cast<std::size_t>(transport)];
}

Transport parse_transport(const std::string& text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return static_cast<Transport>(i);
  }
  throw std::invalid_argument("'" + text +
                              "' is no transport; choose ring, library, window or auto");
}

TimedCollective class_of(const CollectiveCall& call, std::int64_t members) {
  const bool gather = call.kind == CollectiveKind::all_gather;
  return {call.kind, call.owed, call.send.precision, members,
          (gather ? call.receive : call.send).size()};
}

std::string table(const std::vector<TransportChoice>& choices) {
  std::string result = fmt::format("{:<12} {:<15} {:<5} {:>7} {:>11}", "channel", "collective", "",
                                   "members", "whole");
  constexpr std::array<Transport, 3> candidates{Transport::ring, Transport::window,
                                                Transport::library};
  for (Transport candidate : candidates) result += fmt::format(" {:>8}", name(candidate));
  result += "  fastest\n";
  for (const TransportChoice& choice : choices) {
    const TimedCollective& c = choice.collective;
    result += fmt::format("{:<12} {:<15} {:<5} {:>7} {:>11}", choice.channel, name(c.kind),
                          name(c.precision), c.members, size_text(c.bytes()));
    for (Transport candidate : candidates) {
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

}  // namespace fourfold
