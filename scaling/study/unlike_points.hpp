// Points of a campaign that are called alike must be alike.
#pragma once

#include "scaling/study/campaign.hpp"

namespace fourfold {

// Tables and curves call a point by its machine, devices, model, system and label. Throws
// std::runtime_error where points that share these differ in what else decides their seconds, or
// where points of one curve, which differ in their devices, are of other machines or models.
void refuse_unlike(const Campaign& campaign);

}  // namespace fourfold
