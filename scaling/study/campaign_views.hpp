// What is done with the records of a campaign besides making them.
#pragma once

#include <string>

#include "scaling/study/campaign_run.hpp"
#include "scaling/study/plot.hpp"

namespace fourfold::inline scaling::inline study {

// Each reads what there is, while the campaign runs, too, and returns the text for standard output;
// `order` says which campaign and folder. They throw std::runtime_error with a sentence, also where
// there is no record yet.

// How many points are answered, have failed (why), are open. `complete` says whether all are there.
struct Status {
  std::string text;
  bool complete = false;
};
Status campaign_status(const CampaignOrder& order);

std::string campaign_table(const CampaignOrder& order);
// "csv", "json", "latex".
std::string campaign_export(const CampaignOrder& order, const std::string& form);

// Draws one kind, or those of the campaign if it is empty, and says which pictures there are; they
// are so many inches wide, or as wide as they need if that is 0.
DrawnFigures campaign_plot(const CampaignOrder& order, const std::string& kind);
// The same, with the drawings in characters instead of what it says.
DrawnFigures campaign_preview(const CampaignOrder& order, const std::string& kind);

// Draws the figures, writes report.html of those that could be drawn, and says where it is.
DrawnFigures campaign_report(const CampaignOrder& order);

// Moves the records of finished or dead slices into records.jsonl: none is lost or doubled by an
// interruption. Says how many came.
std::string collect_campaign(const CampaignOrder& order);

}  // namespace fourfold::inline scaling::inline study
