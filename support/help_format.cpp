// Wrapped descriptions; see help_format.hpp. CLI11 is compiled whole here alone: other files
// include <CLI/App.hpp>, which costs each of them half.
#include "support/help_format.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "support/exit_status.hpp"
#include "support/prose.hpp"

namespace fourfold::inline support {
namespace {

class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(Formatter::make_option_desc(option), line_width - get_column_width());
  }

  // Beside the option's names, and below them where the line is full.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string names = "  " + make_option_name(option, option->get_positional());
    std::string all =
        hanging(names + Formatter::make_option_opts(option), get_column_width(), line_width);
    all.pop_back();  // the line's end
    return all.substr(names.size());
  }

  std::string make_description(const CLI::App* app) const override {
    return wrapped(Formatter::make_description(app));
  }

  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = Formatter::make_footer(app);
    // A verb that says what its own statuses mean says it alone.
    const bool says_it = app->get_description().find("Exit status:") != std::string::npos ||
                         footer.find("Exit status:") != std::string::npos;
    return says_it ? footer : footer + "\n" + status_help + "\n";
  }
};

}  // namespace

void format_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormat>());
  // What an App begins with: named here, so that this file holds its code for all.
  app.config_formatter(std::make_shared<CLI::ConfigTOML>());
}

}  // namespace fourfold::inline support
