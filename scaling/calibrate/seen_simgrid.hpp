// A machine as a SimGrid platform file has it whose hosts, links and routes are written out, as
// `fourfold platforms export --simgrid-xml` writes them.
#pragma once

#include <string>

#include "platforms/file/template.hpp"

namespace fourfold::inline scaling::inline calibrate {

// A template of a platform file with the nodes, NICs and kind of network of the file, and with the
// bandwidths of all links that it has; how far the machine goes on behind them `shape` says.
// Exported again, it has the same hosts and links. Throws std::runtime_error with a sentence that
// begins with `where` on other files of SimGrid and on what is none.
std::string template_of_simgrid(const std::string& xml, const std::string& where,
                                const TemplateShape& shape);

}  // namespace fourfold::inline scaling::inline calibrate
