// The plots of a study and of a training run, drawn by gnuplot from the CSV that these wrote.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scaling/study/loss_table.hpp"
#include "scaling/study/study.hpp"

namespace fourfold::inline scaling::inline study {

// What came of figures: a sentence for the user, which pictures there are, or that gnuplot is
// missing (a study is whole without them), and a sentence for each kind that failed.
struct DrawnFigures {
  std::string said;
  std::map<std::string, std::string> failures;  // by kind
  std::map<std::string, std::string> nothing;   // by kind that has nothing to draw: a sentence
  std::vector<std::string> drawn;               // kinds, in their order
};

// Writes NAME.png, .svg and .pdf of each kind (scaling/study/figure.hpp) into `folder`, and beside
// them NAME.csv, what they are drawn from, unless that is the folder's summary.csv. Where one
// fails, or is not whole, say, as the disk is full, the others are drawn, and pictures that were
// there stay; where there is nothing to draw, ours are taken away. `width_in`: see Picture.
DrawnFigures draw_figures(const std::vector<std::string>& kinds, const Study& study,
                          const std::string& folder, double width_in = 0.0);

// The drawing of one kind in characters. Throws std::runtime_error with a sentence if it cannot be
// drawn.
std::string preview(const std::string& kind, const Study& study, const std::string& folder);

// Writes loss.png, .svg and .pdf into `folder` from its losses. Returns a sentence that says so, or
// that gnuplot is missing. Throws std::runtime_error where gnuplot fails.
std::string draw_loss_curve(const std::string& folder, const LossTable& losses);

// Writes a PNG, an SVG and a PDF beside the CSV of a validation
// (scaling/validation/validation_json.hpp), under its name. Returns a sentence, as above.
std::string draw_scatter(const std::string& path, const std::string& csv,
                         const std::string& fidelity, double width_in = 0.0);

// Writes influence.png, .svg and .pdf into `folder` from its influence.csv
// (scaling/text/strategy_results.hpp). Returns a sentence, as above.
std::string draw_influence(const std::string& folder, const std::string& title,
                           double width_in = 0.0);

// Writes OUTPUT.png, .svg and .pdf, whichever of them OUTPUT itself ends with, of memory over a
// step (scaling/text/memory_text.hpp). Returns a sentence, as above.
std::string draw_memory(const std::string& output, const std::string& csv, const std::string& title,
                        double width_in = 0.0);

// Writes memorisation.png, .svg and .pdf into `folder` from its memorisation.csv
// (scaling/study/memorisation_record.hpp). Returns a sentence, as above.
std::string draw_memorisation(const std::string& folder, const std::string& title,
                              double width_in = 0.0);

}  // namespace fourfold::inline scaling::inline study
