// Wrapped descriptions; see help_format.hpp.
#include "support/help_format.hpp"

#include "support/exit_status.hpp"
#include "support/prose.hpp"

namespace fourfold::inline support {

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  return wrapped(Formatter::make_option_desc(option), line_width - get_column_width());
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return wrapped(Formatter::make_description(app));
}

std::string HelpFormat::make_footer(const CLI::App* app) const {
  const std::string footer = Formatter::make_footer(app);
  // A verb that says what its own statuses mean says it alone.
  const bool says_it = app->get_description().find("Exit status:") != std::string::npos ||
                       footer.find("Exit status:") != std::string::npos;
  return says_it ? footer : footer + "\n" + status_help + "\n";
}

}  // namespace fourfold::inline support
