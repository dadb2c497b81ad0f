// fourfold collectives: what every algorithm costs a group of devices, by size.
#include <CLI/CLI.hpp>
#include <memory>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/output.hpp"
#include "scaling/text/collective_table.hpp"
#include "support/flag_checks.hpp"

namespace fourfold {

void add_collectives_verb(CLI::App& app, Action& action) {
  struct Typed {
    std::string platform;
    std::int64_t devices = 0;
    std::int64_t stride = 1;
    bool json = false;
  };
  const auto typed = std::make_shared<Typed>();
  CLI::App* verb = app.add_subcommand("collectives", "Time collectives by size and algorithm");
  verb->footer(
      "Microseconds and bus bandwidth of all-gather, reduce-scatter and all-reduce in one group "
      "of\n"
      "devices, while the groups between its members do the same.\n\n"
      "Example, the groups of eight that lie in eight nodes of Frontier:\n"
      "  fourfold collectives --platform frontier --devices 8 --stride 8");
  verb->add_option("--platform", typed->platform, "a name or a TOML file")->required();
  verb->add_option("--devices", typed->devices, "members of the group")
      ->required()
      ->check(whole_number(1));
  verb->add_option("--stride", typed->stride, "distance between neighbours, in devices")
      ->capture_default_str()
      ->check(whole_number(1));
  verb->add_flag("--json", typed->json, "print one line of JSON");
  verb->callback([typed, &action] {
    action = [typed] {
      const Platform platform = read_platform(typed->platform);
      print_notices(platform);
      const CollectiveTable table = collective_table(platform, typed->devices, typed->stride);
      print(typed->json ? collective_json(table) : collective_text(table));
      return 0;
    };
  });
}

}  // namespace fourfold
