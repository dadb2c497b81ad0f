// Runs a campaign to its end or to Ctrl-C, and writes everything that is made of its records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaling/find/question.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/store.hpp"
#include "scaling/study/study.hpp"
#include "scaling/text/text_table.hpp"

namespace fourfold {

// What standard output gets: the tables, or the records that they are made of, a line of JSON each.
enum class Answers : std::uint8_t { tables, json };

// Every count-th point, from the index-th on, for one of several jobs that share a campaign.
struct Slice {
  std::int64_t index = 1, count = 1;
};

// "3/8". Throws std::runtime_error with a sentence on anything else.
Slice slice_in(const std::string& word);

struct CampaignOrder {
  std::string file;
  std::string output;  // folder; empty: results/NAME
  Opening opening = Opening::resume;
  std::optional<Fidelity> fidelity;  // instead of the campaign's
  std::string grids_by;              // instead of the campaign's, unless empty
  Answers answers = Answers::tables;
  Width width = Width::page;   // of what is printed; table.txt has all columns
  std::optional<Slice> slice;  // absent: all points, and tables and figures of them
};

// Points whose records are there are kept. Returns the exit status: done, or could_not if a point
// failed (its sentence went to standard error). Throws Interrupted after a sentence that says how
// to go on, and std::runtime_error if nothing more can be done.
int run_campaign(const CampaignOrder& order);
// The same for a campaign that is in no file.
int run_campaign(const Campaign& campaign, const CampaignOrder& order);

// results/NAME unless the order names another folder.
std::string folder_of(const Campaign& campaign, const CampaignOrder& order);
// Of a slice, or of all.
std::string records_file(const std::string& folder, const std::optional<Slice>& slice);
std::string failures_file(const std::string& folder);

// "frontier 512 gpt-5b", with its system and its label.
std::string point_name(const Campaign& campaign, std::size_t index);

// What there is of a campaign.
struct Answered {
  std::vector<Record> records;  // in the campaign's order
  std::vector<PointTag> tags;   // theirs, if the campaign has any
  std::vector<std::size_t> missing;
  std::vector<std::string> keys;  // of all points
};
Answered answered_by(const Campaign& campaign, const std::vector<Record>& records);

// The tables that stand in table.txt.
std::string text_of(const Study& study, Width width);
std::vector<std::string> figures_of(const Campaign& campaign, const Study& study);

}  // namespace fourfold
