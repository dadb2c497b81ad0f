// Whether all ranks read the same words: nodes may hold copies of their own under one name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/executor.hpp"
#include "engine/train/data/data.hpp"
#include "engine/train/run/world.hpp"

namespace fourfold::inline engine::inline train::inline run {

// The data's digest. Throws FailedTogether with a sentence that names the ranks whose data differ
// from rank 0's in length or in some million of their words. Collective.
std::string digest_of_all(const Data& data, const World& world);

// Tells the words of a batch apart, exactly as a double.
double fingerprint(const LocalBatch& batch);
// Throws FailedTogether unless ranks that share sequences have had the same words: they differ
// along x, y and pipe alone. By rank, the same on all of them.
void expect_same_words(const std::vector<double>& fingerprints, const ProcessGrid& grid);

}  // namespace fourfold::inline engine::inline train::inline run
