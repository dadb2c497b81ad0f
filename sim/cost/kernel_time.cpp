// The roofline of one kernel; see kernel_time.hpp.
#include "sim/cost/kernel_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "platforms/vector_rates.hpp"
#include "schedule/fold/product_sum.hpp"
#include "sim/cost/order_statistics.hpp"

namespace fourfold::inline sim::inline cost {

namespace {

// Where a value lies among ascending ones: the one below, and the part of the way to the next by
// logarithms.
struct Between {
  std::size_t below = 0;
  double part = 0.0;
};

Between between(const std::vector<double>& values, double value) {
  if (value <= values.front()) return {};
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (value > values[i]) continue;
    return {i - 1, std::log(value / values[i - 1]) / std::log(values[i] / values[i - 1])};
  }
  return {values.size() - 1, 0.0};
}

}  // namespace

FlopsPerSecond gemm_rate(const ProductGrid& grid, double m, double k, double n) {
  const Between at[]{between(grid.m, m), between(grid.k, k), between(grid.n, n)};
  double logarithm = 0.0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    double weight = 1.0;
    std::size_t place[3];
    for (unsigned i = 0; i < 3; ++i) {
      const bool above = (corner >> i & 1U) != 0;
      weight *= above ? at[i].part : 1.0 - at[i].part;
      place[i] = at[i].below + (above ? 1 : 0);
    }
    if (weight == 0.0) continue;
    const std::size_t row = (place[0] * grid.k.size() + place[1]) * grid.n.size() + place[2];
    logarithm += weight * std::log(grid.rates[row].value);
  }
  return {std::exp(logarithm)};
}

namespace {

FlopsPerSecond attention_by_length(const std::vector<AttentionPoint>& points, std::int64_t sequence,
                                   FlopsPerSecond AttentionPoint::*rate) {
  std::vector<double> lengths;
  for (const AttentionPoint& point : points) {
    lengths.push_back(static_cast<double>(point.sequence));
  }
  const Between at = between(lengths, static_cast<double>(sequence));
  if (at.part == 0.0) return points[at.below].*rate;
  return points[at.below].*rate * (1.0 - at.part) + points[at.below + 1].*rate * at.part;
}

}  // namespace

FlopsPerSecond gemm_rate(const std::vector<GemmPoint>& table, double m, double k, double n) {
  const double size = std::cbrt(m * k * n);
  if (size <= static_cast<double>(table.front().size)) return table.front().rate;
  for (std::size_t i = 1; i < table.size(); ++i) {
    const auto high = static_cast<double>(table[i].size);
    if (size > high) continue;
    const auto low = static_cast<double>(table[i - 1].size);
    const double part = std::log(size / low) / std::log(high / low);
    return table[i - 1].rate * (1 - part) + table[i].rate * part;
  }
  return table.back().rate;
}

namespace {

// Loads are of 16 bytes; with rows of 108 elements of 2 bytes only every other row begins at a
// multiple of that, so that loads are of 8.
bool aligned(double elements, double width = 2.0) {
  constexpr double load = 16.0;
  return std::fmod(elements * width, load) == 0.0;
}

// Of a product with rows that do not begin at a load's, as those of 50,257 logits.
constexpr double unaligned_rate = 0.5;

}  // namespace

FlopsPerSecond batched_rate(const Processor& processor, const BatchedProduct& product) {
  const auto& [batch, m, k, n] = product;
  if (!processor.tiles) {
    const double edge = std::cbrt(batch * m * k * n);
    return gemm_rate(processor.gemm, edge, edge, edge);
  }
  FlopsPerSecond largest;
  for (const GemmPoint& point : processor.gemm) largest = std::max(largest, point.rate);
  const ProductTiles& tiles = *processor.tiles;
  const auto edge = static_cast<double>(tiles.edge);
  const auto units = static_cast<double>(tiles.units);
  const double down = std::ceil(m / edge);
  const double across = std::ceil(n / edge);
  const double filled = m * n / (down * across * edge * edge);
  const double all = batch * down * across;
  const double busy = all / (std::ceil(all / units) * units);
  const double loads = aligned(m) && aligned(k) && aligned(n) ? 1.0 : unaligned_rate;
  return largest * (k / (k + tiles.start_up) * filled * busy * loads);
}

FlopsPerSecond attention_rate(const Processor& processor, const Software& software,
                              const OpClass& op) {
  double over_flash_2 = 1.0;
  if (software.attention == AttentionSoftware::flash_1) {
    over_flash_2 = processor.flash_1.value_or(1.0);
  } else if (software.attention == AttentionSoftware::flash_3) {
    over_flash_2 = processor.flash_3.value_or(1.0);
  }
  const bool forward = op.function == &functions::attention;
  if (!processor.attention.empty()) {
    return attention_by_length(processor.attention, op.attributes.sequence,
                               forward ? &AttentionPoint::forward : &AttentionPoint::backward) *
           over_flash_2;
  }
  return (forward ? processor.attention_forward : processor.attention_backward) * over_flash_2;
}

namespace {

// The kernels of one operation on one machine.
class Kernels {
 public:
  Kernels(const OpClass& op, const LocalSizes& sizes, const Platform& machine, double longer)
      : op_(op),
        sizes_(sizes),
        machine_(machine),
        processor_(machine.processor),
        software_(machine.software),
        pace_(in_fp32() ? longer / fp32_rate(machine) : longer),
        longer_(longer) {}

  Seconds time() const {
    if (!op_.function->products.empty()) return products() + beside();
    if (is_host_copy(op_.kind)) return launched(over_host_link());
    if (const MapKernels* maps = instead(); maps != nullptr) {
      return std::max(moved(*maps), computing()) + copies();
    }
    const Seconds kernel = std::max(computing(), moving(op_traffic(op_, sizes_)));
    return launched(kernel) + beside() + copies();
  }

 private:
  Seconds moving(Bytes bytes) const { return bytes / processor_.memory_bandwidth; }

  Seconds launched(Seconds kernel) const {
    return std::max(kernel + processor_.launch_overhead, software_.dispatch);
  }

  double layout_penalty(GemmForm form) const {
    if (software_.tuned_products) return 1.0;
    if (form == GemmForm::nt) return processor_.layout_penalty_nt;
    return form == GemmForm::tn ? processor_.layout_penalty_tn : 1.0;
  }

  static double number(std::int64_t extent) { return static_cast<double>(extent); }

  double width(std::size_t operand) const {
    return sizes_.width[static_cast<std::size_t>(op_.reads[operand])];
  }

  // What the software says about it; null: nothing.
  const MapKernels* instead() const {
    if (op_.kind == OpKind::update) return software_.update();
    // A gradient on an fp32 sum, in 16 bits or as its product leaves it.
    const bool on_sum = op_.kind == OpKind::add && op_.reads.size() == 2 &&
                        (width(0) > width(1) || op_.function == &product_sum);
    if (on_sum && software_.gradient_sum() != nullptr) return software_.gradient_sum();
    if (op_.kind == OpKind::add) return software_.add();
    return software_.maps.empty() ? nullptr : software_.kernels_of(*op_.function);
  }

  Seconds beside() const {
    if (software_.beside.empty()) return {};
    const MapKernels* kernels = software_.kernels_beside(*op_.function);
    return kernels == nullptr ? Seconds{} : moved(*kernels);
  }

  Seconds moved(const MapKernels& kernels) const {
    const auto first = static_cast<std::size_t>(op_.reads.front());
    const double elements = sizes_.bytes[first] / sizes_.width[first];
    // The optimizer's state and gradients are as wide as they are written in the file.
    const double stored = op_.kind == OpKind::update || op_.kind == OpKind::add ? 2.0 : width(0);
    Seconds sum;
    for (const MapKernel& kernel : kernels) {
      sum += launched(moving({elements * (kernel.stored * stored + kernel.bytes)}) +
                      kernel.time * elements);
    }
    return sum;
  }

  bool in_fp32() const { return !op_.reads.empty() && width(0) == 4.0; }

  Seconds computing() const {
    if (op_.kind == OpKind::gemm) {
      const auto a = static_cast<std::size_t>(op_.shape_a);
      const auto b = static_cast<std::size_t>(op_.shape_b);
      const auto free_b = op_.form == GemmForm::nt ? sizes_.rows[b] : sizes_.cols[b];
      const double m = number(sizes_.rows[a]);
      const double k = number(sizes_.cols[a]);
      const double n = number(free_b);
      if (width(0) == 1.0) {
        const double scales =
            op_.function == &functions::mx_product ? processor_.mxfp8_over_fp8.value_or(1.0) : 1.0;
        return op_flops(op_, sizes_) / (gemm_rate(processor_.gemm_fp8, m, k, n) * scales) * pace_;
      }
      const ProductGrid& grid = processor_.products[static_cast<std::size_t>(op_.form)];
      if (!grid.empty()) {
        // Of a first factor that is stored transposed, rows are what is summed over.
        const bool transposed = op_.form == GemmForm::tn;
        return op_flops(op_, sizes_) / gemm_rate(grid, transposed ? k : m, transposed ? m : k, n) *
               pace_;
      }
      const bool whole = !processor_.tiles || (aligned(number(sizes_.cols[a]), width(0)) &&
                                               aligned(number(sizes_.cols[b]), width(1)));
      return op_flops(op_, sizes_) / gemm_rate(processor_.gemm, m, k, n) *
             layout_penalty(op_.form) * (pace_ / (whole ? 1.0 : unaligned_rate));
    }
    const Arithmetic work = op_arithmetic(op_, sizes_);
    const Flops matrix{work.matrix};
    const Seconds of_matrix =
        matrix > Flops{} ? matrix / function_rate(matrix) * function_pace() : Seconds{};
    const Flops others{std::max(work.vector, work.special * flops_of_special)};
    if (!(others > Flops{})) return of_matrix;
    return std::max(of_matrix, others / known_vector_rate() * longer_);
  }

  FlopsPerSecond known_vector_rate() const {
    if (const auto rate = fp32_products(machine_)) return *rate;
    throw std::invalid_argument(
        fmt::format("{} computes outside products, and {} does not say how fast: it needs "
                    "processor.fp32_Tflops",
                    op_.function->name, machine_.name));
  }

  bool attends() const {
    return op_.function == &functions::attention || op_.function == &functions::attention_backward;
  }

  double function_pace() const {
    return attends() && in_fp32() ? longer_ / fp32_attention_rate(machine_) : pace_;
  }

  // Where nobody has measured a function, its flops take as long as those of one product of as much
  // work.
  FlopsPerSecond function_rate(Flops flops) const {
    if (attends()) return attention_rate(processor_, software_, op_);
    const double edge = std::cbrt(flops.value / 2);
    return gemm_rate(processor_.gemm, edge, edge, edge);
  }

  // All heads of all sequences are one launch.
  Seconds products() const {
    const std::span<const HeadProduct> all = op_.function->products;
    const Flops of_each = op_flops(op_, sizes_) / static_cast<double>(all.size());
    Seconds sum;
    for (const HeadProduct& product : all) {
      const FlopsPerSecond rate = batched_rate(processor_, shape_of(product, of_each));
      sum += launched(std::max(of_each / rate * (layout_penalty(product.form) * pace_),
                               moving(product_traffic(op_, sizes_, product))));
    }
    return sum;
  }

  // Of its three matrices one has s x s elements a head, the others s x d: of their bytes d
  // follows.
  BatchedProduct shape_of(const HeadProduct& product, Flops flops) const {
    const auto s = static_cast<double>(op_.attributes.sequence);
    const auto group = static_cast<double>(op_.attributes.group);
    double pairs = 0.0;
    double columns = 0.0;  // of all heads of queries
    const auto see = [&](std::int32_t size, HeadPart part) {
      const double bytes = sizes_.bytes[static_cast<std::size_t>(size)];
      if (part == HeadPart::pairs) {
        pairs = bytes;
      } else {
        const bool shared = part == HeadPart::keys || part == HeadPart::values;
        columns = functions::part_of(bytes, part, group) * (shared ? group : 1.0);
      }
    };
    see(op_.writes[0], product.result);
    see(op_.reads[product.a.number], product.a.part);
    see(op_.reads[product.b.number], product.b.part);
    const double d = std::round(s * columns / pairs);
    const bool scores = product.result == HeadPart::pairs;
    return {flops.value / (2 * s * s * d), s, scores ? d : s, scores ? s : d};
  }

  // A bucket comes, is updated and goes back before the next comes: each copy is one more launch.
  Seconds copies() const {
    if (op_.bucket == -1) return {};
    return over_host_link() +
           (3 * host_traffic(op_, sizes_).buckets - 1) * processor_.launch_overhead;
  }

  Seconds over_host_link() const { return host_traffic(op_, sizes_).sum() / *processor_.host_link; }

  const OpClass& op_;
  const LocalSizes& sizes_;
  const Platform& machine_;
  const Processor& processor_;
  const Software& software_;
  double pace_;    // what is over a rate in 16 bits: the device's own pace, and fp32
  double longer_;  // than the median device
};

}  // namespace

Seconds kernel_time_on(const OpClass& op, const LocalSizes& sizes, const Platform& platform,
                       double longer) {
  return moves(op, sizes) ? Kernels(op, sizes, platform, longer).time() : Seconds{};
}

Seconds kernel_time(const OpClass& op, const LocalSizes& sizes, const Platform& platform,
                    std::int64_t devices) {
  return kernel_time_on(op, sizes, platform, slowest(platform.processor, devices)) *
         slowdown(platform.node, devices);
}

double slowest(const Processor& processor, std::int64_t devices) {
  if (processor.spread == 0.0) return 1.0;
  return 1.0 + processor.spread * expected_largest(devices);
}

double slowdown(const Node& node, std::int64_t devices) {
  if (node.crowding.empty()) return 1.0;
  for (const Crowding& row : node.crowding) {
    if (devices <= row.devices) return row.slowdown;
  }
  return node.crowding.back().slowdown;
}

}  // namespace fourfold::inline sim::inline cost
