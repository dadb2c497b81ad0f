// Between a global matrix and the blocks of it that the devices of a process grid hold.
#pragma once

#include <functional>
#include <vector>

#include "engine/plan/block_place.hpp"
#include "engine/reference/matrix.hpp"

namespace fourfold::inline engine::inline reference {

// The block of `rank`, element by element: so that a device can fill its own block of a matrix that
// nobody holds as a whole. Flat pieces become one row; padding is zero.
template <typename T>
Matrix<T> scatter(const Shape& shape, const ProcessGrid& grid, std::int64_t rank,
                  const std::function<T(std::int64_t row, std::int64_t col)>& element);

template <typename T>
Matrix<T> scatter(const Shape& shape, const ProcessGrid& grid, std::int64_t rank,
                  const Matrix<T>& global);

// Inverse of scatter, from the blocks of all ranks. Throws std::logic_error if replicas differ in a
// single bit or padding is not zero: either means that devices have drifted apart.
template <typename T>
Matrix<T> gather(const Shape& shape, const ProcessGrid& grid, const std::vector<Matrix<T>>& blocks);

}  // namespace fourfold::inline engine::inline reference
