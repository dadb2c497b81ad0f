// Flops and bytes of a folded schedule on a grid; see count.hpp.
#include "schedule/fold/count.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fourfold::inline schedule::inline fold {

namespace {

// More elements than any machine holds count as so many: they do not fit, however many they are.
constexpr std::int64_t most_elements = std::int64_t{1} << 60;

std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? most_elements : std::min(product, most_elements);
}

}  // namespace

void LocalSizes::evaluate(const Folded& folded, const ProcessGrid& grid,
                          const Quantities& quantities) {
  const std::size_t shapes = folded.shapes.size();
  rows.resize(shapes);
  cols.resize(shapes);
  elements.resize(shapes);
  for (std::size_t i = 0; i < shapes; ++i) {
    const Shape& shape = folded.shapes[i];
    rows[i] = shape.local_rows(grid, quantities);
    cols[i] = shape.local_cols(grid, quantities);
    const std::int64_t parts = shape.sharding.pieces.parts(grid);
    elements[i] = (bounded_product(rows[i], cols[i]) + parts - 1) / parts;
  }
  bytes.resize(folded.sizes.size());
  width.resize(folded.sizes.size());
  for (std::size_t i = 0; i < folded.sizes.size(); ++i) {
    const Size& size = folded.sizes[i];
    std::int64_t sum = 0;
    for (const Size::Term& term : size.terms) {
      const std::int64_t one = elements[static_cast<std::size_t>(term.shape)];
      sum = std::min(sum + bounded_product(one, term.times), most_elements);
    }
    width[i] = static_cast<double>(bytes_per_element(size.precision));
    bytes[i] = static_cast<double>(sum) * width[i];
  }
}

Arithmetic op_arithmetic(const OpClass& op, const LocalSizes& sizes) {
  const auto rows = [&](std::int32_t shape) {
    return static_cast<double>(sizes.rows[static_cast<std::size_t>(shape)]);
  };
  const auto cols = [&](std::int32_t shape) {
    return static_cast<double>(sizes.cols[static_cast<std::size_t>(shape)]);
  };
  if (op.kind == OpKind::gemm) {
    const double free_b = op.form == GemmForm::nt ? rows(op.shape_b) : cols(op.shape_b);
    return {2 * rows(op.shape_a) * cols(op.shape_a) * free_b};
  }
  if (op.function->arithmetic == nullptr) return {};
  return op.function->arithmetic(rows(op.shape_a), cols(op.shape_a), op.attributes);
}

Bytes product_traffic(const OpClass& op, const LocalSizes& sizes, const HeadProduct& product) {
  const auto bytes = [&](std::int32_t size, HeadPart part) {
    return functions::part_of(sizes.bytes[static_cast<std::size_t>(size)], part,
                              static_cast<double>(op.attributes.group));
  };
  return {bytes(op.reads[product.a.number], product.a.part) +
          bytes(op.reads[product.b.number], product.b.part) + bytes(op.writes[0], product.result)};
}

bool moves(const OpClass& op, const LocalSizes& sizes) {
  if (op.kind == OpKind::pack || op.kind == OpKind::unpack) return false;
  if (op.kind == OpKind::view) return false;
  if (op.kind != OpKind::cut) return true;
  const auto bytes = [&](std::int32_t size) { return sizes.bytes[static_cast<std::size_t>(size)]; };
  return bytes(op.writes[0]) < bytes(op.reads[0]);
}

Bytes op_traffic(const OpClass& op, const LocalSizes& sizes) {
  if (!moves(op, sizes)) return {};
  if (!op.function->products.empty()) {
    Bytes of_all;
    for (const HeadProduct& product : op.function->products) {
      of_all += product_traffic(op, sizes, product);
    }
    return of_all;
  }
  const auto bytes = [&](std::int32_t size) { return sizes.bytes[static_cast<std::size_t>(size)]; };
  if (op.kind == OpKind::cut) return {2 * bytes(op.writes[0])};
  if (is_host_copy(op.kind)) return {bytes(op.writes[0])};
  if (op.function->traffic == Traffic::twice_result) return {2 * bytes(op.writes[0])};
  if (op.function->traffic == Traffic::twice_first) return {2 * bytes(op.reads[0])};
  double sum = 0;
  for (std::int32_t size : op.reads) sum += bytes(size);
  for (std::int32_t size : op.writes) sum += bytes(size);
  return {sum};
}

HostTraffic host_traffic(const OpClass& op, const LocalSizes& sizes) {
  const auto bytes = [&](std::int32_t size) {
    return Bytes{sizes.bytes[static_cast<std::size_t>(size)]};
  };
  HostTraffic traffic;
  for (std::int32_t size : op.fetched) traffic.to_device += bytes(size);
  if (op.kind == OpKind::to_host) traffic.to_host = bytes(op.writes[0]);
  if (op.kind != OpKind::update || op.bucket == -1) return traffic;
  traffic.to_host = traffic.to_device;
  traffic.buckets = std::ceil(traffic.to_device / bytes(op.bucket));
  return traffic;
}

Counts count(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid) {
  std::vector<std::int64_t> times(folded.bodies.size(), 0);
  for (const BodyCycle& cycle : folded.cycles) {
    for (const BodyRun& run : cycle.runs) {
      times[static_cast<std::size_t>(run.body)] += run.repeats * cycle.repeats;
    }
  }
  const std::size_t channels = folded.channels.size();
  Counts counts{folded.channels,
                {},
                {},
                std::vector<Bytes>(channels),
                std::vector<Bytes>(channels),
                std::vector<std::int64_t>(channels)};
  for (std::size_t b = 0; b < folded.bodies.size(); ++b) {
    const auto repeats = static_cast<double>(times[b]);
    for (const FoldedStep& step : folded.bodies[b].steps) {
      if (step.kind == IssueKind::compute) {
        for (std::int32_t c : folded.bundles[static_cast<std::size_t>(step.index)]) {
          const OpClass& op = folded.classes[static_cast<std::size_t>(c)];
          (op.kind == OpKind::gemm ? counts.gemm : counts.functions) +=
              op_flops(op, sizes) * repeats;
        }
      } else if (step.kind == IssueKind::start) {
        const auto channel = static_cast<std::size_t>(step.channel);
        const std::int64_t size = members(folded.channels[channel], grid);
        if (size == 1) continue;
        const CollectiveClass& c = folded.collectives[static_cast<std::size_t>(step.index)];
        const Bytes buffer{sizes.bytes[static_cast<std::size_t>(c.buffer)] * repeats};
        counts.payload[channel] += buffer;
        counts.sent[channel] += buffer * (part_sent(c.kind, size) * senders(c.kind, size));
        counts.collectives[channel] += times[b];
      }
    }
  }
  return counts;
}

namespace {

// As timed programs list channels: by axis, then by purpose.
void put_in_order(Counts& counts) {
  std::vector<std::size_t> order(counts.channels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return in_order(counts.channels[a], counts.channels[b]);
  });
  const auto sorted = [&](const auto& list) {
    auto result = list;
    for (std::size_t i = 0; i < order.size(); ++i) result[i] = list[order[i]];
    return result;
  };
  counts.payload = sorted(counts.payload);
  counts.sent = sorted(counts.sent);
  counts.collectives = sorted(counts.collectives);
  counts.channels = sorted(counts.channels);
}

}  // namespace

Counts mean(const std::vector<Counts>& stages) {
  if (stages.size() == 1) return stages.front();
  Counts sum;
  const auto share = 1.0 / static_cast<double>(stages.size());
  for (const Counts& stage : stages) {
    sum.gemm += stage.gemm * share;
    sum.functions += stage.functions * share;
    for (std::size_t c = 0; c < stage.channels.size(); ++c) {
      const auto found = std::ranges::find(sum.channels, stage.channels[c]);
      const auto at = static_cast<std::size_t>(found - sum.channels.begin());
      if (found == sum.channels.end()) {
        sum.channels.push_back(stage.channels[c]);
        sum.payload.emplace_back();
        sum.sent.emplace_back();
        sum.collectives.emplace_back();
      }
      sum.payload[at] += stage.payload[c] * share;
      sum.sent[at] += stage.sent[c] * share;
      sum.collectives[at] += stage.collectives[c];
    }
  }
  put_in_order(sum);
  for (std::int64_t& collectives : sum.collectives) {
    collectives = (collectives + static_cast<std::int64_t>(stages.size()) - 1) /
                  static_cast<std::int64_t>(stages.size());
  }
  return sum;
}

Counts mean_count(const Pipeline& pipeline, const std::vector<LocalSizes>& sizes,
                  const ProcessGrid& grid) {
  const std::size_t channels = pipeline.channels().size();
  const auto stages = static_cast<std::int64_t>(pipeline.stages().size());
  const double share = 1.0 / static_cast<double>(stages);
  Counts counts{pipeline.channels(),
                {},
                {},
                std::vector<Bytes>(channels),
                std::vector<Bytes>(channels),
                std::vector<std::int64_t>(channels)};
  for (const StageSet& set : pipeline.sets()) {
    const auto kind = static_cast<std::size_t>(set.kind);
    const Folded& folded =
        pipeline.stages()[static_cast<std::size_t>(pipeline.kinds()[kind].stage)];
    for (std::size_t c = 0; c < folded.classes.size(); ++c) {
      const OpClass& op = folded.classes[c];
      (op.kind == OpKind::gemm ? counts.gemm : counts.functions) +=
          op_flops(op, sizes[kind]) * (static_cast<double>(set.classes[c]) * share);
    }
    for (std::size_t i = 0; i < folded.collectives.size(); ++i) {
      const CollectiveClass& c = folded.collectives[i];
      const auto channel =
          static_cast<std::size_t>(set.channels[static_cast<std::size_t>(c.channel)]);
      const std::int64_t size = members(pipeline.channels()[channel], grid);
      if (size == 1) continue;
      const Bytes buffer{sizes[kind].bytes[static_cast<std::size_t>(c.buffer)] *
                         (static_cast<double>(set.collectives[i]) * share)};
      counts.payload[channel] += buffer;
      counts.sent[channel] += buffer * (part_sent(c.kind, size) * senders(c.kind, size));
      counts.collectives[channel] += set.collectives[i];
    }
  }
  for (std::int64_t& collectives : counts.collectives) {
    collectives = (collectives + stages - 1) / stages;
  }
  return counts;
}

}  // namespace fourfold::inline schedule::inline fold
