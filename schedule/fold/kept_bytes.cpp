// Adds up rules over the operations of each body; see kept_bytes.hpp.
#include "schedule/fold/kept_bytes.hpp"

#include <algorithm>
#include <cmath>

namespace fourfold::inline schedule::inline fold {

namespace {

// Which passes a body has: a block's forward, its backward, which may repeat the forward, or those
// of the embedding; everything else begins and ends what it makes.
enum class Pass : std::uint8_t { block, block_back, embedding, embedding_back, other };

// What rules add to one body.
struct Kept {
  Pass pass = Pass::other;
  bool norms = false;  // a norm's forward is in it
  double keeps = 0.0;
  double makes = 0.0;
};

class KeptByBodies {
 public:
  KeptByBodies(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid,
               const MemoryRules& rules)
      : folded_(folded), sizes_(sizes), grid_(grid), rules_(rules) {
    for (const Body& body : folded.bodies) bodies_.push_back(kept(body));
  }

  std::vector<KeptBytes> all() const {
    const Kept block = most(Pass::block), block_back = most(Pass::block_back);
    // What is made again in the backward pass need not be kept for it.
    const double saved = block_back.norms ? 0.0 : std::max(0.0, block.keeps - block_back.keeps);
    const bool trains =
        std::ranges::any_of(bodies_, [](const Kept& b) { return b.pass == Pass::block_back; });
    std::vector<KeptBytes> result;
    for (const Kept& body : bodies_) {
      const double inside = body.keeps + body.makes;
      switch (body.pass) {
        case Pass::block:
          result.push_back(trains ? KeptBytes{saved, saved} : KeptBytes{0.0, inside});
          break;
        case Pass::block_back:
          result.push_back({-saved, inside});
          break;
        case Pass::embedding:
          result.push_back({body.keeps, body.keeps});
          break;
        case Pass::embedding_back:
          result.push_back({-most(Pass::embedding).keeps, 0.0});
          break;
        default:
          result.push_back({0.0, inside});
      }
    }
    return result;
  }

 private:
  Kept most(Pass pass) const {
    Kept found;
    for (const Kept& body : bodies_) {
      if (body.pass == pass && body.keeps >= found.keeps) found = body;
    }
    return found;
  }

  static Pass pass_with(const Function* function, Pass before) {
    using namespace functions;
    const bool back = before == Pass::block_back;
    if (function == &attention_backward || function == &qkv_backward) return Pass::block_back;
    if ((function == &attention || function == &scores || function == &attention_to_cache) &&
        !back) {
      return Pass::block;
    }
    if (function == &lookup_backward && before == Pass::other) return Pass::embedding_back;
    return function == &lookup && before == Pass::other ? Pass::embedding : before;
  }

  Kept kept(const Body& body) const {
    Kept result;
    for (const FoldedStep& step : body.steps) {
      if (step.kind != IssueKind::compute) continue;
      for (std::int32_t c : folded_.bundles[static_cast<std::size_t>(step.index)]) {
        const OpClass& op = folded_.classes[static_cast<std::size_t>(c)];
        result.pass = pass_with(op.function, result.pass);
        result.norms |=
            op.function == &functions::layer_norm || op.function == &functions::rms_norm;
        for (const FunctionBytes& rule : rules_.functions) {
          if (rule.function == op.function) add(rule, op, result);
        }
      }
    }
    return result;
  }

  void add(const FunctionBytes& rule, const OpClass& op, Kept& result) const {
    const auto size = static_cast<std::size_t>(op.reads.front());
    const double elements = sizes_.bytes[size] / sizes_.width[size];
    const Shape& shape = folded_.shapes[static_cast<std::size_t>(op.shape_a)];
    const bool cut = shape.sharding.rows.contains(Axis::x);
    const auto others = static_cast<double>(cut ? grid_.extent(Axis::x) - 1 : 0);
    const auto group = static_cast<double>(op.attributes.group);
    const double copies = 2.0 * (group - 1.0) / (group + 2.0);
    result.keeps +=
        std::round(elements * (rule.keeps + rule.gathers * others + rule.expands * copies));
    result.makes = std::max(result.makes, std::round(elements * rule.makes));
  }

  const Folded& folded_;
  const LocalSizes& sizes_;
  const ProcessGrid& grid_;
  const MemoryRules& rules_;
  std::vector<Kept> bodies_;
};

}  // namespace

std::vector<KeptBytes> kept_bytes(const Folded& folded, const LocalSizes& sizes,
                                  const ProcessGrid& grid, const MemoryRules& rules) {
  if (rules.functions.empty()) return {};
  return KeptByBodies(folded, sizes, grid, rules).all();
}

}  // namespace fourfold::inline schedule::inline fold
