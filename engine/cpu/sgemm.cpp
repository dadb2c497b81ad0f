// Calls OpenBLAS and oneDNN; see sgemm.hpp.
#include "engine/cpu/sgemm.hpp"

#include <cblas.h>
#include <dnnl.h>
#include <malloc.h>

#include <limits>
#include <stdexcept>

// Debian's oneDNN computes with OpenMP, whose thread count has no other way in.
extern "C" void omp_set_num_threads(int threads);

namespace fourfold::inline engine::inline cpu {

namespace {

blasint narrowed(std::int64_t extent) {
  if (extent > std::numeric_limits<blasint>::max()) {
    throw std::runtime_error("OpenBLAS cannot multiply matrices with an extent of " +
                             std::to_string(extent));
  }
  return static_cast<blasint>(extent);
}

CBLAS_TRANSPOSE cblas(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

}  // namespace

const char* name(Library library) {
  return library == Library::openblas ? "OpenBLAS" : "oneDNN";
}

Library library_named(const std::string& text) {
  for (Library library : {Library::openblas, Library::onednn}) {
    if (text == name(library)) return library;
  }
  throw std::invalid_argument("no library is called " + text + "; there are OpenBLAS and oneDNN");
}

GemmForm form_named(const std::string& text) {
  for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
    if (text == name(form)) return form;
  }
  throw std::invalid_argument("no form of a product is called " + text +
                              "; there are NN, NT and TN");
}

void sgemm(Library library, const Sgemm& p) {
  const bool a_transposed = p.form == GemmForm::tn;
  const bool b_transposed = p.form == GemmForm::nt;
  if (library == Library::openblas) {
    cblas_sgemm(CblasRowMajor, cblas(a_transposed), cblas(b_transposed), narrowed(p.m),
                narrowed(p.n), narrowed(p.k), 1.0F, p.a, narrowed(p.a_stride), p.b,
                narrowed(p.b_stride), p.beta, p.c, narrowed(p.c_stride));
    return;
  }
  const dnnl_status_t status =
      dnnl_sgemm(a_transposed ? 'T' : 'N', b_transposed ? 'T' : 'N', p.m, p.n, p.k, 1.0F, p.a,
                 p.a_stride, p.b, p.b_stride, p.beta, p.c, p.c_stride);
  if (status != dnnl_success) {
    throw std::runtime_error("oneDNN refused a product with status " + std::to_string(status));
  }
}

void use_one_thread() {
  openblas_set_num_threads(1);
  omp_set_num_threads(1);
}

// mallopt(3). Left alone, malloc learns a threshold from what is freed, but an aligned buffer
// teaches it one that is too small for the next of its size.
void keep_packing_buffers() {
  constexpr int largest = 8 << 20;
  mallopt(M_MMAP_THRESHOLD, largest);
  mallopt(M_TRIM_THRESHOLD, 2 * largest);
}

}  // namespace fourfold::inline engine::inline cpu
