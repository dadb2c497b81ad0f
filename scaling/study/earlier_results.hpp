// What a campaign left in its folder as it was before an edit: what it cannot show now is taken
// away. Files of other words than ours, and links, are somebody else's and stay.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline scaling::inline study {

// The kind's pictures and its CSV, if we wrote them. Returns whether there was any.
bool take_away_figure(const std::string& folder, const std::string& kind);

// The same of any figure, by its path without ending and the first line of its CSV.
bool take_away_drawn(const std::string& path, const std::string& heading);

// Writes summary.csv. Where one was there that says something else, the report and figures of other
// kinds than those that are drawn anew are taken away, which the user is told. Returns whether one
// was.
bool write_summary(const std::string& folder, const std::string& csv,
                   const std::vector<std::string>& drawn_anew);

// Figures of all kinds, the report and the tables.
void take_away_results(const std::string& folder);

}  // namespace fourfold::inline scaling::inline study
