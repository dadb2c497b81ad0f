// The keys [simulate] and grids of a campaign: when enough grids of a point have been simulated.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scaling/records/verdict.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/words/toml_file.hpp"

namespace fourfold::inline scaling::inline study {

// Of a whole campaign, whose fidelity is known. Throws std::runtime_error with a sentence.
StoppingRule read_rule(const nlohmann::json& file, const Campaign& campaign);

// What [simulate] says and no question of the campaign can follow, neither as the file stands nor
// as the command line wants it answered. Throws AtLine.
void refuse_idle_rule(const nlohmann::json& file, const TomlLines& lines, const Campaign& campaign,
                      const SaidInstead& instead);

}  // namespace fourfold::inline scaling::inline study
