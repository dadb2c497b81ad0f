// A campaign as one HTML file that needs no network: tables that sort, figures, provenance.
#pragma once

#include <string>
#include <vector>

#include "scaling/study/study.hpp"

namespace fourfold::inline scaling::inline study {

struct ReportParts {
  std::string campaign_text;           // the TOML file
  std::vector<std::string> pictures;   // paths of SVG files
  std::vector<std::string> failures;   // sentences
  std::string text;                    // the tables as printed
  std::vector<std::string> not_drawn;  // figures: sentences
};

// Throws std::runtime_error if a picture cannot be read.
std::string report_html(const Study& study, const ReportParts& parts);

// Whether the text is one that report_html made.
bool is_report(const std::string& text);

std::string base64(const std::string& bytes);

}  // namespace fourfold::inline scaling::inline study
