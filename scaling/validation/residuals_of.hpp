// From results of a validation to what error bars are made of.
#pragma once

#include <vector>

#include "scaling/bars/residuals.hpp"
#include "scaling/validation/validation_run.hpp"

namespace fourfold::inline scaling::inline validation {

// Of the steps that ran and are out of sample.
std::vector<Residual> residuals_of(const std::vector<SetResult>& results);

}  // namespace fourfold::inline scaling::inline validation
