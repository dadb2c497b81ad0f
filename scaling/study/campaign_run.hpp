// Runs a campaign to its end or to Ctrl-C, and writes everything that is made of its records.
#pragma once

#include <optional>
#include <string>

#include "scaling/find/question.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/store.hpp"
#include "scaling/text/text_table.hpp"

namespace fourfold {

// What standard output gets: the tables, or the records that they are made of, a line of JSON each.
enum class Answers : std::uint8_t { tables, json };

struct CampaignOrder {
  std::string file;
  std::string output;  // folder; empty: results/NAME
  Opening opening = Opening::resume;
  std::optional<Fidelity> fidelity;  // instead of the campaign's
  std::string grids_by;              // instead of the campaign's, unless empty
  Answers answers = Answers::tables;
  Width width = Width::page;  // of what is printed; table.txt has all columns
};

// Points whose records are there are kept. Returns the exit status: done, or could_not if a point
// failed (its sentence went to standard error). Throws Interrupted after a sentence that says how to go on, and
// std::runtime_error if nothing more can be done.
int run_campaign(const CampaignOrder& order);
// The same for a campaign that is in no file.
int run_campaign(const Campaign& campaign, const CampaignOrder& order);

}  // namespace fourfold
