// Runs a campaign to its end or to Ctrl-C, and writes everything that is made of its records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaling/records/question.hpp"
#include "scaling/records/store.hpp"
#include "scaling/study/answering.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/study.hpp"
#include "scaling/words/text_table.hpp"

namespace fourfold::inline scaling::inline study {

// What standard output gets: the tables, or the records that they are made of, a line of JSON each;
// these as they are, or with what other values of what they take for granted would change.
enum class Answers : std::uint8_t { tables, json, json_granted };

// Every count-th point, from the index-th on, for one of several jobs that share a campaign.
struct CampaignSlice {
  std::int64_t index = 1, count = 1;
};

// "3/8". Throws std::runtime_error with a sentence on anything else.
CampaignSlice slice_in(const std::string& word);

struct CampaignOrder {
  std::string file;
  std::string output;  // folder; empty: results/NAME
  Opening opening = Opening::resume;
  std::optional<Fidelity> fidelity;  // instead of the campaign's
  std::string grids_by;              // instead of the campaign's, unless empty
  Answers answers = Answers::tables;
  Width width = Width::page;  // of what is printed; table.txt has all columns
  // Part of the points, with records of its own; without either all points, and tables and figures
  // of them. A slice leaves out what is measured, `devices` (those on so many) the twins of that.
  std::optional<CampaignSlice> slice;
  std::optional<std::int64_t> devices;
  std::string launch;        // what starts the ranks of measured points; empty: mpirun, here
  std::int64_t retries = 1;  // of points whose failure may pass
  double width_in = 0.0;     // of figures: see Picture

  bool is_part() const { return slice || devices; }
};

// The campaign of an order, at the fidelity that it asks for. Throws std::runtime_error.
Campaign campaign_of(const CampaignOrder& order);

// Points whose records are there are kept. Returns the exit status: done, no if nothing but points
// that nothing fits failed (their sentences went to standard error), or could_not. Throws
// Interrupted after a sentence that says how to go on, and std::runtime_error if nothing more can
// be done.
int run_campaign(const CampaignOrder& order);
// The same for a campaign that is in no file.
int run_campaign(const Campaign& campaign, const CampaignOrder& order);

// results/NAME unless the order names another folder.
std::string folder_of(const Campaign& campaign, const CampaignOrder& order);
// Of all points, and of a part of them.
std::string records_file(const std::string& folder);
std::string part_file(const std::string& folder, const CampaignOrder& order);
std::string failures_file(const std::string& folder);

// "frontier 512 gpt-5b", with its system and its label.
std::string point_name(const Campaign& campaign, std::size_t index);

// What there is of a campaign.
struct Answered {
  std::vector<Record> records;  // in the campaign's order
  std::vector<PointTag> tags;   // theirs, if the campaign has any
  std::vector<bool> given;      // by record: somebody stated the grid
  std::vector<std::size_t> missing;
  std::vector<std::string> keys;  // of all points
  // Of a measured campaign, by record: the twin, or why there is none; and whose are still to come.
  std::vector<std::optional<Record>> twins;
  std::vector<std::string> no_twin;
  std::vector<std::size_t> missing_twins;
};
Answered answered_by(const Campaign& campaign, const std::vector<Record>& records,
                     const Builds& builds = {});

Study study_of(const Campaign& campaign, const Answered& answered);
// Of the missing points those that nothing fits, with why, as the folder's failures say.
std::vector<UnfitPoint> unfit_points(const Campaign& campaign, const Answered& answered,
                                     const std::string& folder);

// The tables that stand in table.txt.
std::string text_of(const Study& study, Width width);
std::vector<std::string> figures_of(const Campaign& campaign, const Study& study);

}  // namespace fourfold::inline scaling::inline study
