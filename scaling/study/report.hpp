// A campaign as one HTML file that needs no network: tables that sort, figures, provenance.
#pragma once

#include <string>
#include <vector>

#include "scaling/study/study.hpp"

namespace fourfold {

struct ReportParts {
  std::string campaign_text;          // the TOML file
  std::vector<std::string> pictures;  // paths of SVG files
  std::vector<std::string> failures;  // sentences
  std::string text;                   // the tables as printed
};

// Throws std::runtime_error if a picture cannot be read.
std::string report_html(const Study& study, const ReportParts& parts);

// "<b>" as "&lt;b&gt;".
std::string html_text(const std::string& text);

std::string base64(const std::string& bytes);

}  // namespace fourfold
