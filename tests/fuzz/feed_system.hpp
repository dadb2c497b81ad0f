// The reader of training systems, apart: it and the engine call different things Reach.
#pragma once

#include <string>

namespace fourfold::tests {

void feed_system(const std::string& path);

}  // namespace fourfold::tests
