// Wrapped descriptions; see help_format.hpp.
#include "command_line/help_format.hpp"

#include "command_line/wrapped.hpp"

namespace fourfold {

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  return wrapped(Formatter::make_option_desc(option), line_width - get_column_width());
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return wrapped(Formatter::make_description(app));
}

}  // namespace fourfold
