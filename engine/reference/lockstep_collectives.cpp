// Sums, maxima and concatenations over lines; see lockstep_collectives.hpp.
#include "engine/reference/lockstep_collectives.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/bf16.hpp"
#include "engine/plan/ring_order.hpp"

namespace fourfold::inline engine::inline reference {

namespace {

// The whole sum or maximum over one line, chunk by chunk.
template <typename T>
std::vector<T> reduced(const LineCollective<T>& collective, const std::vector<std::int64_t>& line,
                       Owed owed) {
  const auto members = static_cast<std::int64_t>(line.size());
  const auto values = [&](std::int64_t member) -> const std::vector<T>& {
    return (*collective.input)[static_cast<std::size_t>(line[static_cast<std::size_t>(member)])]
        .values;
  };
  std::vector<T> result(values(0).size());
  for (std::int64_t c = 0; c < members; ++c) {
    const RingChunk chunk = ring_chunk(static_cast<std::int64_t>(result.size()), members, c);
    for (std::int64_t n = chunk.first; n < chunk.first + chunk.elements; ++n) {
      const auto i = static_cast<std::size_t>(n);
      T so_far = values(ring_member(members, c, 0))[i];
      for (std::int64_t place = 1; place < members; ++place) {
        const T own = values(ring_member(members, c, place))[i];
        so_far = owed == Owed::sum ? so_far + own : std::max(so_far, own);
        if (collective.wire == Precision::bf16) {
          so_far = static_cast<T>(rounded_to_bf16(static_cast<float>(so_far)));
        }
      }
      result[i] = so_far;
    }
  }
  return result;
}

// Calls `visit(line)` once for each line of the grid along `axis`.
template <typename Visit>
void for_each_line(const ProcessGrid& grid, Axis axis, const Visit& visit) {
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    const std::vector<std::int64_t> line = grid.line(rank, axis);
    if (line.front() == rank) visit(line);
  }
}

}  // namespace

template <typename T>
void LineCollective<T>::all_reduce(Owed owed) const {
  for_each_line(*grid, axis, [&](const std::vector<std::int64_t>& line) {
    const std::vector<T> sum = reduced(*this, line, owed);
    for (std::int64_t rank : line) (*output)[static_cast<std::size_t>(rank)].values = sum;
  });
}

template <typename T>
void LineCollective<T>::all_gather() const {
  for_each_line(*grid, axis, [&](const std::vector<std::int64_t>& line) {
    std::vector<T> whole;
    for (std::int64_t rank : line) {
      const std::vector<T>& piece = (*input)[static_cast<std::size_t>(rank)].values;
      whole.insert(whole.end(), piece.begin(), piece.end());
    }
    for (std::int64_t rank : line) {
      std::vector<T>& out = (*output)[static_cast<std::size_t>(rank)].values;
      std::copy_n(whole.begin(), out.size(), out.begin());
    }
  });
}

template <typename T>
void LineCollective<T>::reduce_scatter() const {
  for_each_line(*grid, axis, [&](const std::vector<std::int64_t>& line) {
    std::vector<T> sum = reduced(*this, line, Owed::sum);
    const std::size_t piece = (*output)[static_cast<std::size_t>(line[0])].values.size();
    sum.resize(piece * line.size());
    for (std::size_t member = 0; member < line.size(); ++member) {
      std::copy_n(sum.begin() + static_cast<std::ptrdiff_t>(member * piece), piece,
                  (*output)[static_cast<std::size_t>(line[member])].values.begin());
    }
  });
}

// In rank `to` element (row, column) of what all have together stands where its block says.
template <typename T>
void LineCollective<T>::all_to_all() const {
  for_each_line(*grid, axis, [&](const std::vector<std::int64_t>& line) {
    for (std::size_t from = 0; from < line.size(); ++from) {
      const Matrix<T>& in = (*input)[static_cast<std::size_t>(line[from])];
      for (std::size_t to = 0; to < line.size(); ++to) {
        Matrix<T>& out = (*output)[static_cast<std::size_t>(line[to])];
        const bool cuts_columns = out.rows > in.rows || line.size() == 1;
        const auto own = static_cast<std::int64_t>(from), others = static_cast<std::int64_t>(to);
        const auto members = static_cast<std::int64_t>(line.size());
        const bool whole = cuts_columns
                               ? out.rows == in.rows * members && out.cols * members == in.cols
                               : out.rows * members == in.rows && out.cols == in.cols * members;
        if (!whole) throw std::logic_error("lockstep: an all_to_all needs equal parts");
        const std::int64_t rows = std::min(in.rows, out.rows), cols = std::min(in.cols, out.cols);
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t col = 0; col < cols; ++col) {
            if (cuts_columns) {
              out(own * rows + row, col) = in(row, others * cols + col);
            } else {
              out(row, own * cols + col) = in(others * rows + row, col);
            }
          }
        }
      }
    }
  });
}

template <typename T>
void LineCollective<T>::expect_marked(const std::string& name,
                                      const std::vector<Matrix<T>>& marks) const {
  for (std::size_t rank = 0; rank < marks.size(); ++rank) {
    const std::vector<T>& values = (*input)[rank].values;
    const std::size_t block = values.size() / marks[rank].values.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0 || marks[rank].values[i / block] != 0) continue;
      throw std::logic_error("lockstep: " + name + " holds numbers in a block that is not marked");
    }
  }
}

template <typename T>
void LineCollective<T>::expect_arrival(const std::string& name, const std::string& arriving_name,
                                       const std::vector<Matrix<T>>& arriving) const {
  std::vector<Matrix<T>> arrived = arriving;
  LineCollective<T> moved = *this;
  moved.output = &arrived;
  moved.all_to_all();
  for (std::size_t rank = 0; rank < arrived.size(); ++rank) {
    if (arrived[rank].values == arriving[rank].values) continue;
    throw std::logic_error("lockstep: " + arriving_name + " is not what became of " + name);
  }
}

template <typename T>
void LineCollective<T>::broadcast() const {
  for_each_line(*grid, axis, [&](const std::vector<std::int64_t>& line) {
    for (std::int64_t rank : line) {
      (*output)[static_cast<std::size_t>(rank)].values =
          (*input)[static_cast<std::size_t>(line[0])].values;
    }
  });
}

// Rows go to members before and after; the ends keep zeros.
template <typename T>
void LineCollective<T>::neighbour_exchange() const {
  for_each_line(*grid, axis, [&](const std::vector<std::int64_t>& line) {
    for (std::size_t member = 0; member < line.size(); ++member) {
      std::vector<T>& out = (*output)[static_cast<std::size_t>(line[member])].values;
      const auto edge = static_cast<std::ptrdiff_t>(out.size() / 2);
      const auto values = [&](std::size_t of) -> const std::vector<T>& {
        return (*input)[static_cast<std::size_t>(line[of])].values;
      };
      if (std::ssize(values(member)) < edge) {
        throw std::logic_error("lockstep: an edge of more rows than a device has");
      }
      if (member > 0)
        std::copy(values(member - 1).end() - edge, values(member - 1).end(), out.begin());
      if (member + 1 < line.size()) {
        std::copy_n(values(member + 1).begin(), edge, out.begin() + edge);
      }
    }
  });
}

template struct LineCollective<float>;
template struct LineCollective<double>;

}  // namespace fourfold::inline engine::inline reference
