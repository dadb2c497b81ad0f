// How --help looks: two columns, no line beyond line_width, and no examples of another verb.
#pragma once

#include <CLI/CLI.hpp>

namespace fourfold::inline support {

class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;  // with the exit statuses
};

}  // namespace fourfold::inline support
