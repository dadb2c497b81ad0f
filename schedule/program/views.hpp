// Whether what a program views by the axes of another factoring lies alike on a grid: a stream
// passes between the two factorings where both cut it alike.
#pragma once

#include <string>

#include "schedule/program/program.hpp"

namespace fourfold::inline schedule::inline program {

// Why some view of the program is of other blocks on the grid, as a sentence; empty if none is.
// Example: rows cut by {data,z,x} lie as those cut by {expert-data,expert} where y is 1 and
// expert-tensor is 1.
std::string view_misfit(const Program& program, const ProcessGrid& grid);

}  // namespace fourfold::inline schedule::inline program
