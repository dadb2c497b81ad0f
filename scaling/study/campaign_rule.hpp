// The keys [simulate] and grids of a campaign: when enough grids of a point have been simulated.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scaling/records/verdict.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/words/toml_file.hpp"

namespace fourfold::inline scaling::inline study {

// Of a whole campaign, whose fidelity is known. Throws std::runtime_error with a sentence.
StoppingRule read_rule(const nlohmann::json& file, const Campaign& campaign);

// What [simulate] says and no question of the campaign, answered at this fidelity, can follow.
// Throws AtLine.
void refuse_idle_rule(const nlohmann::json& file, const TomlLines& lines, const Campaign& campaign,
                      Fidelity fidelity);

}  // namespace fourfold::inline scaling::inline study
