// How --help looks: two columns, no line beyond line_width, and no examples of another verb.
#pragma once

#include <CLI/App.hpp>

namespace fourfold::inline support {

void format_help(CLI::App& app);  // verbs that are added later inherit it

}  // namespace fourfold::inline support
