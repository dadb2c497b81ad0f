// The roofline of one kernel; see kernel_time.hpp.
#include "sim/cost/kernel_time.hpp"

#include <algorithm>
#include <cmath>

namespace fourfold {

FlopsPerSecond gemm_rate(const Processor& processor, double m, double k, double n) {
  const std::vector<GemmPoint>& table = processor.gemm;
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

double layout_penalty(const Processor& processor, GemmForm form) {
  if (form == GemmForm::nt) return processor.layout_penalty_nt;
  return form == GemmForm::tn ? processor.layout_penalty_tn : 1.0;
}

// All heads of all sequences are one launch, so that their product fills the device as a single
// one of as much work does: that is what decides its rate.
Seconds products_time(const OpClass& op, const LocalSizes& sizes, const Processor& processor) {
  const std::span<const HeadProduct> products = op.function->products;
  const Flops of_each = op_flops(op, sizes) / static_cast<double>(products.size());
  const double edge = std::cbrt(of_each.value / 2);
  const Seconds at_full_layout = of_each / gemm_rate(processor, edge, edge, edge);
  Seconds sum;
  for (const HeadProduct& product : products) {
    const Seconds moving = product_traffic(op, sizes, product) / processor.memory_bandwidth;
    sum += std::max(at_full_layout * layout_penalty(processor, product.form), moving) +
           processor.launch_overhead;
  }
  return sum;
}

}  // namespace

Seconds kernel_time(const OpClass& op, const LocalSizes& sizes, const Processor& processor) {
  if (!moves(op, sizes)) return {};
  if (!op.function->products.empty()) return products_time(op, sizes, processor);
  const Seconds moving = op_traffic(op, sizes) / processor.memory_bandwidth;
  Seconds computing;
  if (op.kind == OpKind::gemm) {
    const auto a = static_cast<std::size_t>(op.shape_a);
    const auto b = static_cast<std::size_t>(op.shape_b);
    const auto free_b = op.form == GemmForm::nt ? sizes.rows[b] : sizes.cols[b];
    const FlopsPerSecond rate =
        gemm_rate(processor, static_cast<double>(sizes.rows[a]), static_cast<double>(sizes.cols[a]),
                  static_cast<double>(free_b));
    computing = op_flops(op, sizes) / rate * layout_penalty(processor, op.form);
  } else if (op.kind == OpKind::attention) {
    computing = op_flops(op, sizes) / (op.function->result == ResultShape::attended
                                           ? processor.attention_forward
                                           : processor.attention_backward);
  }
  const Seconds kernel = std::max(computing, moving) + processor.launch_overhead;
  if (op.bucket == -1) return kernel;
  // A bucket comes, is updated and goes back before the next comes: each copy is one more launch.
  const HostTraffic host = host_traffic(op, sizes);
  return kernel + 2 * (host.one_way / *processor.host_link) +
         (3 * host.buckets - 1) * processor.launch_overhead;
}

}  // namespace fourfold
