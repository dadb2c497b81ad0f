// Wrapped descriptions; see help_format.hpp.
#include "support/help_format.hpp"

#include "support/exit_status.hpp"
#include "support/prose.hpp"

namespace fourfold {

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  return wrapped(Formatter::make_option_desc(option), line_width - get_column_width());
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return wrapped(Formatter::make_description(app));
}

std::string HelpFormat::make_footer(const CLI::App* app) const {
  return Formatter::make_footer(app) + "\n" + status_help + "\n";
}

}  // namespace fourfold
