// Keeps one compiled matmul for each shape of a tile; see bf16_gemm.hpp.
#include "engine/cpu/bf16_gemm.hpp"

#include <algorithm>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <string>

namespace fourfold::inline engine::inline cpu {

namespace {

// The contracted extent stays whole, so that a bf16 result is rounded once. A tile of this many
// products takes 0.6 ms where the core makes 200 of them a ns.
constexpr std::int64_t most_products = 1 << 27;
constexpr std::int64_t longest_edge = 512, shortest_edge = 128;

struct Extents {
  std::int64_t m = 0, n = 0, k = 0;
};

Extents tile_of(const Extents& whole) {
  Extents tile{longest_edge, longest_edge, whole.k};
  const auto too_large = [&] { return tile.m * tile.n * tile.k > most_products; };
  while (too_large() && tile.m > shortest_edge) {
    tile.m /= 2;
    if (too_large()) tile.n /= 2;
  }
  return {std::min(tile.m, whole.m), std::min(tile.n, whole.n), whole.k};
}

// How a tile and the matrices that it is cut from lie in memory; strides are from row to row.
struct Layout {
  GemmForm form = GemmForm::nn;
  Extents extents;
  std::int64_t a_stride = 0, b_stride = 0, out_stride = 0;
  Precision out = Precision::fp32;

  auto key() const {
    return std::tuple(form, extents.m, extents.n, extents.k, a_stride, b_stride, out_stride, out);
  }
  bool operator<(const Layout& other) const { return key() < other.key(); }
};

using Type = dnnl::memory::data_type;

dnnl::memory::desc rows_apart(std::int64_t rows, std::int64_t cols, std::int64_t stride,
                              Type type) {
  return {{rows, cols}, type, dnnl::memory::dims{stride, 1}};
}
dnnl::memory::desc columns_apart(std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  return {{rows, cols}, Type::bf16, dnnl::memory::dims{1, stride}};
}

// A compiled product of tiles.
class Tile {
 public:
  Tile(const Layout& layout, const dnnl::engine& engine) {
    const auto& [m, n, k] = layout.extents;
    const auto a = layout.form == GemmForm::tn ? columns_apart(m, k, layout.a_stride)
                                               : rows_apart(m, k, layout.a_stride, Type::bf16);
    const auto b = layout.form == GemmForm::nt ? columns_apart(k, n, layout.b_stride)
                                               : rows_apart(k, n, layout.b_stride, Type::bf16);
    const auto out =
        rows_apart(m, n, layout.out_stride, layout.out == Precision::bf16 ? Type::bf16 : Type::f32);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc found(dnnl::matmul::desc(a, b, out), attributes, engine);
    matmul_ = dnnl::matmul(found);
    a_ = dnnl::memory(a, engine, nullptr);
    b_ = dnnl::memory(b, engine, nullptr);
    out_ = dnnl::memory(out, engine, nullptr);
    scratch_ = dnnl::memory(found.scratchpad_desc(), engine, nullptr);
  }

  std::int64_t scratch_floats() const {
    return static_cast<std::int64_t>(scratch_.get_desc().get_size() + 3) / 4;
  }
  void run(const dnnl::stream& stream, std::byte* a, std::byte* b, std::byte* out, float* scratch) {
    a_.set_data_handle(a);
    b_.set_data_handle(b);
    out_.set_data_handle(out);
    scratch_.set_data_handle(scratch);
    matmul_.execute(stream, {{DNNL_ARG_SRC, a_},
                             {DNNL_ARG_WEIGHTS, b_},
                             {DNNL_ARG_DST, out_},
                             {DNNL_ARG_SCRATCHPAD, scratch_}});
  }

 private:
  dnnl::matmul matmul_;
  dnnl::memory a_, b_, out_, scratch_;
};

}  // namespace

class Bf16Gemm::Tiles {
 public:
  // Calls body(tile, row, column) for every tile of the product.
  template <typename Body>
  void for_each(const TensorProduct& product, const Body& body) {
    const bool tn = product.form == GemmForm::tn;
    const Extents whole{product.out.rows, product.out.cols, tn ? product.a.rows : product.a.cols};
    const Extents tile = tile_of(whole);
    Layout layout{product.form,   tile,    product.a.cols,
                  product.b.cols, whole.n, product.out.precision};
    for (std::int64_t j = 0; j < whole.n; j += tile.n) {
      layout.extents.n = std::min(tile.n, whole.n - j);
      for (std::int64_t i = 0; i < whole.m; i += tile.m) {
        layout.extents.m = std::min(tile.m, whole.m - i);
        body(compiled(layout), i, j);
      }
    }
  }
  const dnnl::stream& stream() const { return stream_; }

 private:
  Tile& compiled(const Layout& layout) {
    const auto found = tiles_.find(layout);
    if (found != tiles_.end()) return found->second;
    return tiles_.emplace(layout, Tile(layout, engine_)).first->second;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Layout, Tile> tiles_;
};

namespace {

[[noreturn]] void refused(const dnnl::error& error) {
  throw std::runtime_error(std::string("oneDNN cannot multiply in bf16 on this processor (") +
                           error.what() + "); use --precision fp32, or kernels tuned here");
}

}  // namespace

bool computes_in_bf16() {
  static const bool can = [] {
    try {
      const Tile compiled({GemmForm::nn, {8, 8, 8}, 8, 8, 8, Precision::bf16},
                          {dnnl::engine::kind::cpu, 0});
      return true;
    } catch (const dnnl::error&) {
      return false;
    }
  }();
  return can;
}

Bf16Gemm::Bf16Gemm() = default;
Bf16Gemm::~Bf16Gemm() = default;

void Bf16Gemm::prepare(const TensorProduct& product, Scratch& scratch) {
  try {
    if (tiles_ == nullptr) tiles_ = std::make_unique<Tiles>();
    tiles_->for_each(product, [&](const Tile& tile, std::int64_t, std::int64_t) {
      scratch.take(0, tile.scratch_floats());
    });
  } catch (const dnnl::error& error) {
    refused(error);
  }
}

void Bf16Gemm::multiply(const TensorProduct& product, Scratch& scratch,
                        const ProgressCall& progress) {
  const auto& [form, a, b, out] = product;
  const std::int64_t a_row = form == GemmForm::tn ? 1 : a.cols;
  const std::int64_t b_col = form == GemmForm::nt ? b.cols : 1;
  const std::int64_t width = bytes_per_element(out.precision);
  try {
    if (tiles_ == nullptr) tiles_ = std::make_unique<Tiles>();
    tiles_->for_each(product, [&](Tile& tile, std::int64_t i, std::int64_t j) {
      tile.run(tiles_->stream(), a.data + 2 * i * a_row, b.data + 2 * j * b_col,
               out.data + (i * out.cols + j) * width, scratch.floats(0, tile.scratch_floats()));
      if (progress) progress();
    });
  } catch (const dnnl::error& error) {
    refused(error);
  }
}

}  // namespace fourfold::inline engine::inline cpu
