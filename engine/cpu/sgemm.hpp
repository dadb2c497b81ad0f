// One fp32 matrix product in one of the two libraries, row by row as all matrices of the engine.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/program/program.hpp"

namespace fourfold::inline engine::inline cpu {

enum class Library : std::uint8_t { openblas, onednn };
const char* name(Library library);
// Inverses of name(); throw std::invalid_argument that lists what there is.
Library library_named(const std::string& name);
GemmForm form_named(const std::string& name);

// c = op(a) op(b) + beta c; c is m x n, k is contracted. NN reads a as m x k and b as k x n, NT
// reads b as n x k, TN reads a as k x m. Strides count elements from row to row.
struct Sgemm {
  GemmForm form = GemmForm::nn;
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  float beta = 0.0F;
};
// Throws std::runtime_error if the library refuses.
void sgemm(Library library, const Sgemm& product);

// Tells both libraries to compute in the calling thread: there is one rank a core.
void use_one_thread();
// oneDNN allocates the buffers that it packs operands into (1.4 MB) at every product: from now on
// malloc keeps them, instead of asking the system for pages each time.
void keep_packing_buffers();

}  // namespace fourfold::inline engine::inline cpu
