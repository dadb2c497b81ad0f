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

Seconds kernel_time(const OpClass& op, const LocalSizes& sizes, const Processor& processor) {
  if (!moves(op, sizes)) return {};
  const Seconds moving = op_traffic(op, sizes) / processor.memory_bandwidth;
  Seconds computing;
  if (op.kind == OpKind::gemm) {
    const auto a = static_cast<std::size_t>(op.shape_a);
    const auto b = static_cast<std::size_t>(op.shape_b);
    const auto free_b = op.form == GemmForm::nt ? sizes.rows[b] : sizes.cols[b];
    const FlopsPerSecond rate =
        gemm_rate(processor, static_cast<double>(sizes.rows[a]), static_cast<double>(sizes.cols[a]),
                  static_cast<double>(free_b));
    computing = op_flops(op, sizes) / rate;
    if (op.form == GemmForm::nt) computing *= processor.layout_penalty_nt;
    if (op.form == GemmForm::tn) computing *= processor.layout_penalty_tn;
  } else if (op.kind == OpKind::attention) {
    computing = op_flops(op, sizes) / (op.function->result == ResultShape::attended
                                           ? processor.attention_forward
                                           : processor.attention_backward);
  }
  return std::max(computing, moving) + processor.launch_overhead;
}

}  // namespace fourfold
