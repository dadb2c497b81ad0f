// Workers tell records and progress, line by line; see answering.hpp.
#include "scaling/study/answering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "scaling/find/find_answer.hpp"
#include "scaling/jobs/board.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/jobs/workers.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/records/simulation_failed.hpp"
#include "scaling/study/campaign_run.hpp"
#include "scaling/study/failure_log.hpp"
#include "scaling/study/measured_point.hpp"
#include "schedule/models/parameter_count.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

// What a worker tells: a letter, a blank, and the rest.
constexpr char record_line = 'r', progress_line = 'p', passing_line = 't', no_line = 'n';

// Relative work of a projected point: a simulation walks all devices through all layers, and the
// search of a point costs about as much as a simulation on a few thousand devices.
double weight(const Question& question, Rung rung) {
  const auto layers = static_cast<double>(question.model.layers);
  if (rung == Rung::measured) {
    return static_cast<double>(question.global_batch * question.model.sequence) *
           parameter_count(question.model);
  }
  constexpr double search = 100'000.0;
  return search + static_cast<double>(question.devices) * layers;
}

// The rung that a projected point reaches.
Fidelity projected_fidelity(const Campaign& campaign) {
  return campaign.is_measured() ? Fidelity::simulated : campaign.fidelity;
}

class Answerer {
 public:
  Answerer(const Campaign& campaign, const Answering& answering)
      : campaign_(campaign), answering_(answering) {}

  // In a worker. What may succeed another time says so before it fails, and so does a no.
  void answer(const OpenPoint& point, const Tell& tell) const {
    const auto passing = [&] { tell(std::string(1, passing_line)); };
    try {
      if (point.rung == Rung::projected) {
        project(point.question, tell);
      } else {
        measure_point(point.question, tell);
      }
    } catch (const SimulationFailed&) {
      passing();
      throw;
    } catch (const DoesNotFit&) {
      tell(std::string(1, no_line));
      throw;
    } catch (const FindingFailed&) {
      throw;
    } catch (const std::runtime_error&) {
      if (point.rung == Rung::measured) passing();
      throw;
    }
  }

 private:
  static void tell_record(const Record& record, const Tell& tell) {
    tell(std::string(1, record_line) + ' ' + to_json(record));
  }

  // Both records of a question, the estimated one first.
  Finding project(std::size_t index, const Tell& tell) const {
    const Question& question = campaign_.questions[index];
    const Fidelity fidelity = projected_fidelity(campaign_);
    Finding finding = find_answer(
        question, fidelity, campaign_.rule, [&](const std::string& activity, double done) {
          tell(fmt::format("{} {:.6f} {}", progress_line, done, activity));
        });
    tell_record(make_record(question, finding, Fidelity::estimated, campaign_.rule), tell);
    if (simulates(fidelity)) {
      tell_record(make_record(question, finding, fidelity, campaign_.rule), tell);
    }
    return finding;
  }

  // On the grid that is stated, or on the twin's.
  void measure_point(std::size_t index, const Tell& tell) const {
    const Question& question = campaign_.questions[index];
    std::optional<ProcessGrid> grid = question.grid;
    std::int64_t micro_batches = question.micro_batches.value_or(1);
    if (!grid) {
      const Finding finding = project(index, tell);
      grid = finding.best().grid;
      micro_batches = finding.best().micro_batches;
    }
    tell(fmt::format("{} 0 training", progress_line));
    Training training{campaign_.measure,
                      static_cast<std::uint64_t>(campaign_.tags[index].repetition),
                      {},
                      answering_.folder + "/training-" + key_of(campaign_, index, Rung::measured)};
    if (!answering_.launch.empty()) {
      training.launch = launch_words(answering_.launch, question.devices);
    }
    tell_record(measured_record(question, *grid, micro_batches, training), tell);
  }

  const Campaign& campaign_;
  const Answering& answering_;
};

std::string result_text(const Record& record) {
  const std::string grid = record.point.grid.str();
  if (record.fidelity != Fidelity::measured) {
    return fmt::format("{:.2f} s per batch on grid {}", record.seconds().value, grid);
  }
  return fmt::format("{:.1f} ms a step on grid {}, {:.0f} tokens/s", 1e3 * record.seconds().value,
                     grid, record.throughput().tokens_per_s);
}

// Points of one rung, from first to last.
class Stint {
 public:
  Stint(std::vector<OpenPoint> points, const Campaign& campaign, Store& store,
        const Answering& answering)
      : points_(std::move(points)),
        campaign_(campaign),
        store_(store),
        answering_(answering),
        board_(static_cast<std::int64_t>(points_.size()), work()) {
    for (std::size_t i = 0; i < points_.size(); ++i) waiting_.push_back(i);
  }

  std::vector<FailedPoint> run(std::size_t workers) {
    const Answerer answerer(campaign_, answering_);
    const DoTask work = [&](std::size_t task, const Tell& tell) {
      answerer.answer(points_[task], tell);
    };
    share_out(
        std::min(workers, points_.size()), work,
        {[this] { return next(); },
         [this](std::size_t task, const std::string& line) { hear(task, line); },
         [this](std::size_t task, const std::string& why, bool died) { end(task, why, died); },
         [this] { board_.tick(); }});
    return failures_;
  }

 private:
  double work() const {
    double sum = 0.0;
    for (const OpenPoint& point : points_) {
      sum += weight(campaign_.questions[point.question], point.rung);
    }
    return sum;
  }

  std::optional<std::size_t> next() {
    if (waiting_.empty()) return std::nullopt;
    const std::size_t task = waiting_.front();
    waiting_.pop_front();
    const OpenPoint& point = points_[task];
    results_.erase(task);
    passing_.erase(task);
    no_.erase(task);
    board_.begin(task, point_name(campaign_, point.question),
                 weight(campaign_.questions[point.question], point.rung));
    return task;
  }

  void hear(std::size_t task, const std::string& line) {
    if (line.front() == passing_line) {
      passing_[task] = true;
    } else if (line.front() == no_line) {
      no_[task] = true;
    } else if (line.front() == progress_line) {
      char* activity = nullptr;
      const double done = std::strtod(line.c_str() + 2, &activity);
      board_.update(task, activity + 1, done);
    } else {
      const Record record = record_from_json(line.substr(2));
      if (store_.with_key(record.key) == nullptr) store_.append(record);
      results_[task] = result_text(record);
    }
  }

  void end(std::size_t task, const std::string& why, bool died) {
    if (why.empty()) return board_.finish(task, results_[task]);
    const bool may_succeed = died || passing_[task];
    if (may_succeed && tries_[task]++ < answering_.retries) {
      board_.put_back(task, why);
      waiting_.push_back(task);
      return;
    }
    const OpenPoint& point = points_[task];
    failures_.push_back({point_name(campaign_, point.question) + ": " + why, no_[task]});
    log_failure(answering_.failures, key_of(campaign_, point.question, point.rung), why,
                no_[task] ? Failing::no : Failing::failed);
    if (no_[task]) return board_.finish(task, "fits nowhere");
    board_.fail(task);
  }

  std::vector<OpenPoint> points_;
  const Campaign& campaign_;
  Store& store_;
  const Answering& answering_;
  Board board_;
  std::deque<std::size_t> waiting_;
  std::map<std::size_t, std::string> results_;
  std::map<std::size_t, bool> passing_, no_;
  std::map<std::size_t, std::int64_t> tries_;
  std::vector<FailedPoint> failures_;
};

}  // namespace

std::string key_of(const Campaign& campaign, std::size_t question, Rung rung,
                   const Builds& builds) {
  const Question& asked = campaign.questions[question];
  if (rung == Rung::projected) {
    return record_key(asked, projected_fidelity(campaign), campaign.rule,
                      builds.projecting.empty() ? digest_of_executables() : builds.projecting);
  }
  const std::int64_t seed = campaign.tags.at(question).repetition;
  return measured_key(asked, campaign.measure, static_cast<std::uint64_t>(seed),
                      builds.engine.empty() ? digest_of_engine() : builds.engine);
}

std::vector<FailedPoint> answer_points(const std::vector<OpenPoint>& open, const Campaign& campaign,
                                       Store& store, const Answering& answering) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<FailedPoint> failures;
  for (const Rung rung : {Rung::projected, Rung::measured}) {
    std::vector<OpenPoint> points;
    std::ranges::copy_if(open, std::back_inserter(points),
                         [&](const OpenPoint& point) { return point.rung == rung; });
    if (points.empty()) continue;
    if (rung == Rung::measured) beside_this_executable("fourfold-engine");
    if (rung == Rung::projected && simulates(projected_fidelity(campaign))) {
      beside_this_executable("fourfold-replay");
    }
    Stint stint(points, campaign, store, answering);
    for (FailedPoint& failure : stint.run(rung == Rung::measured ? 1 : cores)) {
      failures.push_back(std::move(failure));
    }
  }
  return failures;
}

}  // namespace fourfold::inline scaling::inline study
