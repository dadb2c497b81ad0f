// Matrix products as three loops: the meaning of OpKind::gemm.
#pragma once

#include "engine/matrix.hpp"
#include "schedule/program.hpp"

namespace fourfold::reference {

// out = op(a) op(b); NT transposes b, TN transposes a. The contracted index runs upwards.
template <typename T>
void gemm(GemmForm form, View<const T> a, View<const T> b, View<T> out) {
  const std::int64_t inner = form == GemmForm::tn ? a.rows : a.cols;
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.cols; ++j) {
      T sum{};
      for (std::int64_t k = 0; k < inner; ++k) {
        sum +=
            (form == GemmForm::tn ? a(k, i) : a(i, k)) * (form == GemmForm::nt ? b(j, k) : b(k, j));
      }
      out(i, j) = sum;
    }
  }
}

}  // namespace fourfold::reference
