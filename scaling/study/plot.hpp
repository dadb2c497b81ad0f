// The plots of a study and of a training run, drawn by gnuplot from the CSV that these wrote.
#pragma once

#include <string>
#include <vector>

#include "scaling/study/loss_table.hpp"

namespace fourfold {

// Writes pflops.png, pflops.svg, time.png and time.svg into `folder` from its summary.csv. Returns
// a sentence for the user: which files there are, or that gnuplot is missing; a study is whole
// without them. Throws std::runtime_error where gnuplot fails or a picture is not whole, say, as
// the disk is full; pictures that were there stay. `published_source` goes below the published
// points; empty where there are none.
std::string draw_plots(const std::string& folder, const std::vector<std::string>& machines,
                       const std::string& published_source);

// Writes systems.png and systems.svg, bars of the parts of a batch system by system, in the same
// way.
std::string draw_systems(const std::string& folder, const std::string& title);

// Writes loss.png and loss.svg into `folder` from its loss.csv (scaling/study/loss_table.hpp).
// Returns a sentence, as above.
std::string draw_loss_curve(const std::string& folder, const LossTable& losses);

// Writes a PNG and an SVG beside the CSV of a validation (scaling/validation/validation_json.hpp),
// under its name: the rows of these studies. Returns a sentence, as above.
std::string draw_scatter(const std::string& csv, const std::vector<std::string>& studies,
                         const std::string& fidelity);

// Writes influence.png and influence.svg into `folder` from its influence.csv
// (scaling/study/strategy_results.hpp). Returns a sentence, as above.
std::string draw_influence(const std::string& folder, const std::string& title);

// Writes memorisation.png and memorisation.svg into `folder` from its memorisation.csv
// (scaling/study/memorisation_record.hpp). Returns a sentence, as above.
std::string draw_memorisation(const std::string& folder, const std::string& title);

}  // namespace fourfold
