// The choice among the forms of a collective; see protocol.hpp, and protocol_forms.hpp for the
// forms.
#include "sim/cost/protocol.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "sim/cost/protocol_forms.hpp"

namespace fourfold::inline sim::inline cost {
namespace {

void require_sound(Bytes buffer, BytesPerSecond link_rate) {
  if (!(buffer.value >= 0.0)) {
    throw std::invalid_argument("collective: a buffer of " + std::to_string(buffer.value) +
                                " bytes; it must not be negative");
  }
  if (!(link_rate.value > 0.0)) {
    throw std::invalid_argument("collective: links that give " + std::to_string(link_rate.value) +
                                " bytes per second; it must be more than zero");
  }
}

Bytes sent_by_member(const CollectiveCounts& counts, Bytes buffer) {
  return buffer * (static_cast<double>(counts.sent_by_member) / static_cast<double>(counts.chunks));
}

CollectiveChoice faster(const CollectiveChoice& a, const CollectiveChoice& b) {
  return b.uncontended < a.uncontended ? b : a;
}

CollectiveChoice best_tree(const CollectiveForms& forms, const CollectiveTask& task) {
  const CollectiveCounts tree = counts(task.kind, CollectiveAlgorithm::tree, task.shape);
  return faster(forms.tree(tree, task.buffer, WireProtocol::low_latency),
                forms.tree(tree, task.buffer, WireProtocol::simple));
}

CollectiveChoice best_recursive(const CollectiveForms& forms, CollectiveAlgorithm algorithm,
                                const CollectiveTask& task) {
  const CollectiveCounts pairs = counts(task.kind, algorithm, task.shape);
  return faster(forms.recursive(algorithm, pairs, task.buffer, WireProtocol::low_latency),
                forms.recursive(algorithm, pairs, task.buffer, WireProtocol::simple));
}

CollectiveChoice best_exchange(const CollectiveForms& forms, CollectiveAlgorithm algorithm,
                               const CollectiveTask& task) {
  const CollectiveCounts exchanged = counts(task.kind, algorithm, task.shape);
  const Bytes payload = task.buffer * (part_sent(task.kind, task.shape.members) * task.skew);
  return faster(forms.exchange(algorithm, exchanged, payload, WireProtocol::low_latency),
                forms.exchange(algorithm, exchanged, payload, WireProtocol::simple));
}

// What the library does by itself.
CollectiveChoice untuned(const CollectiveLibrary& library, const CollectiveTask& task) {
  const KindRow& kind = row_of(task.kind);
  if (!kind.algorithms.contains(CollectiveAlgorithm::ring)) {
    return forced_collective(library, CollectiveAlgorithm::pairwise, task);
  }
  require_sound(task.buffer, task.link_rate);
  const CollectiveCounts ring = counts(task.kind, CollectiveAlgorithm::ring, task.shape);
  if (task.shape.members == 1) return {};

  const CollectiveForms forms(library, task.shape, task.link_rate);
  const Bytes payload = sent_by_member(ring, task.buffer);
  const CollectiveChoice best =
      faster(forms.ring_low_latency(ring, payload), forms.ring_simple(ring, payload));
  if (!kind.algorithms.contains(CollectiveAlgorithm::tree) || task.shape.nodes == 1) return best;
  return faster(best, best_tree(forms, task));
}

}  // namespace

const char* name(WireProtocol protocol) {
  return protocol == WireProtocol::low_latency ? "low latency" : "simple";
}

Seconds uncontended(const CollectiveCost& cost, BytesPerSecond link_rate) {
  if (cost.work.value <= 0.0) return cost.delay;
  return cost.delay + cost.work / std::min(cost.rate_cap, link_rate);
}

CollectiveChoice choose_collective(const CollectiveLibrary& library, CollectiveKind kind,
                                   Bytes buffer, GroupShape shape, BytesPerSecond link_rate) {
  return untuned(library, {kind, buffer, shape, link_rate});
}

CollectiveChoice forced_collective(const CollectiveLibrary& library, CollectiveAlgorithm algorithm,
                                   const CollectiveTask& task) {
  require_sound(task.buffer, task.link_rate);
  const CollectiveCounts whole = counts(task.kind, algorithm, task.shape);
  if (task.shape.members == 1) return {};

  const CollectiveForms forms(library, task.shape, task.link_rate);
  const Bytes payload = sent_by_member(whole, task.buffer);
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return faster(forms.ring_low_latency(whole, payload), forms.ring_simple(whole, payload));
    case CollectiveAlgorithm::tree:
      return best_tree(forms, task);
    case CollectiveAlgorithm::recursive: {
      const CollectiveChoice halving = best_recursive(forms, algorithm, task);
      if (task.kind != CollectiveKind::all_reduce) return halving;
      return faster(halving, best_recursive(forms, CollectiveAlgorithm::recursive_doubling, task));
    }
    case CollectiveAlgorithm::recursive_doubling:
      return best_recursive(forms, algorithm, task);
    case CollectiveAlgorithm::hierarchical:
      if (row_of(task.kind).motion == Motion::pairs) return best_exchange(forms, algorithm, task);
      return faster(forms.hierarchical(whole, task.buffer, WireProtocol::low_latency),
                    forms.hierarchical(whole, task.buffer, WireProtocol::simple));
    case CollectiveAlgorithm::pairwise:
      return best_exchange(forms, algorithm, task);
  }
  throw std::logic_error("collective: an algorithm without a cost");
}

namespace {

Seconds measured_time(const std::vector<MeasuredCollectives::Row>& rows, double bytes) {
  if (bytes <= rows.front().bytes) return rows.front().time;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const MeasuredCollectives::Row& low = rows[i - 1];
    const MeasuredCollectives::Row& high = rows[i];
    if (bytes > high.bytes) continue;
    const double part = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
    return low.time * std::pow(high.time / low.time, part);
  }
  return rows.back().time * (bytes / rows.back().bytes);
}

// The time of the smallest buffer is latency, the rest bandwidth.
std::optional<CollectiveChoice> as_measured(const CollectiveLibrary& library,
                                            const CollectiveTask& task) {
  if (task.shape.nodes > 1 || task.buffer.value <= 0.0) return std::nullopt;
  for (const MeasuredCollectives& table : library.measured) {
    if (table.over_nodes() || table.kind != task.kind || table.members != task.shape.members ||
        table.devices != task.devices) {
      continue;
    }
    constexpr double latency_only = 0.999;
    CollectiveChoice choice;
    const Seconds whole = measured_time(table.rows, task.buffer.value);
    choice.cost.delay = std::min(table.rows.front().time, whole * latency_only);
    choice.cost.work = task.buffer * part_sent(task.kind, task.shape.members);
    choice.cost.rate_cap = choice.cost.work / (whole - choice.cost.delay);
    choice.uncontended = uncontended(choice.cost, task.link_rate);
    choice.beside_kernels =
        choice.cost.delay + (choice.uncontended - choice.cost.delay) / (1.0 - library.interference);
    return choice;
  }
  return std::nullopt;
}

// The tables of the kind of groups with as many members a node: the nearest two lengths.
struct Neighbours {
  const MeasuredCollectives* low = nullptr;
  const MeasuredCollectives* high = nullptr;
};

Neighbours neighbours(const CollectiveLibrary& library, const CollectiveTask& task) {
  Neighbours found;
  for (const MeasuredCollectives& table : library.measured) {
    const bool like = table.over_nodes() && table.kind == task.kind &&
                      table.devices * task.shape.nodes == task.shape.members;
    if (!like || 2.0 * task.buffer.value < table.rows.front().bytes) continue;
    if (found.high != nullptr && found.low != nullptr &&
        found.high->members >= task.shape.members) {
      break;
    }
    found.low = found.high;
    found.high = &table;
  }
  return found;
}

// What a ring takes from one member to the next, which its piece decides and not its length: by
// logarithms between the two lengths, or the longer one's where the shorter saw no such piece.
double hop_of(const Neighbours& known, double piece, double members) {
  const auto hop = [&](const MeasuredCollectives& table) {
    const auto length = static_cast<double>(table.members);
    return measured_time(table.rows, piece * length).value / (length - 1.0);
  };
  const auto shorter = static_cast<double>(known.low->members);
  if (piece * shorter < known.low->rows.front().bytes) return hop(*known.high);
  const double part =
      std::log(members / shorter) / std::log(static_cast<double>(known.high->members) / shorter);
  const double high = std::clamp(part, 0.0, 1.0);
  return std::pow(hop(*known.low), 1.0 - high) * std::pow(hop(*known.high), high);
}

// A ring passes as many pieces as it is long, so that at the same piece the time follows the
// length: of large pieces, and of small ones where a library knows a cliff, which is one of rings'
// pieces. Else small ones go by logarithms of the length at the same buffer.
std::optional<CollectiveChoice> as_measured_over_nodes(const CollectiveLibrary& library,
                                                       const CollectiveTask& task) {
  if (task.shape.nodes < 2) return std::nullopt;
  const auto [low, high] = neighbours(library, task);
  if (low == nullptr) return std::nullopt;
  constexpr double large_piece = 512.0 * 1024.0;
  const auto members = static_cast<double>(task.shape.members);
  const auto a = static_cast<double>(low->members), b = static_cast<double>(high->members);
  const double piece = task.buffer.value / members;
  Seconds whole;
  if (piece < large_piece && library.cliff) {
    whole = {hop_of({low, high}, piece, members) * (members - 1.0)};
  } else if (piece < large_piece) {
    const Seconds of_a = measured_time(low->rows, task.buffer.value);
    const Seconds of_b = measured_time(high->rows, task.buffer.value);
    const double part = std::log(members / a) / std::log(b / a);
    // Beyond the longest latency grows as the hops do, at most.
    whole = std::min(of_a * std::pow(of_b / of_a, part),
                     std::max(of_a, of_b) * std::max(1.0, members / b));
  } else {
    const Seconds of_a = measured_time(low->rows, piece * a);
    const Seconds of_b = measured_time(high->rows, piece * b);
    whole = std::max(of_a + (of_b - of_a) * ((members - a) / (b - a)),
                     of_a * std::min(1.0, members / a));
  }
  if (const auto& cliff = library.cliff;
      cliff && piece >= cliff->from.value && piece <= cliff->to.value) {
    whole += cliff->per_member * members;
  }
  const CollectiveForms forms(library, task.shape, task.link_rate);
  return forms.measured(task.buffer * part_sent(task.kind, task.shape.members), whole);
}

}  // namespace

CollectiveChoice choose_collective(const CollectiveLibrary& library, const CollectiveTask& task,
                                   const CollectiveTuning& tuning) {
  const std::optional<CollectiveAlgorithm> forced = tuning.forced(task.kind);
  if (forced) return forced_collective(library, *forced, task);
  if (!library.measured.empty()) {
    require_sound(task.buffer, task.link_rate);
    if (const auto known = as_measured(library, task); known) return *known;
    if (const auto known = as_measured_over_nodes(library, task); known) return *known;
  }
  return untuned(library, task);
}

}  // namespace fourfold::inline sim::inline cost
