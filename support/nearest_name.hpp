// The known name closest to one that is not known, for error messages that help.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline support {

// The candidate with the least edit distance (insert, delete, replace, swap of neighbours: 1 each);
// the first of equals. Empty if there are no candidates.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

// "; did you mean "frontier"?", or nothing where no candidate is alike: half of the letters stay.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates);

// The same with all of a few candidates: "; did you mean "slurm"? It is one of flux, pbs, slurm".
std::string one_of_these(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace fourfold::inline support
