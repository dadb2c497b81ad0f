// What a run is, before its first step: for people, and as the first line of its log.
#pragma once

#include <cstdint>
#include <string>

#include "engine/train/flags/settings.hpp"
#include "engine/train/run/step_report.hpp"
#include "schedule/fold/count.hpp"
#include "schedule/fold/memory.hpp"

namespace fourfold::inline engine::inline train::inline run {

// What was found out about machine and data.
struct RunFacts {
  std::string cpu;               // "AMD EPYC 9B14, 2 cores"
  std::string libraries;         // "Open MPI 4.1.4; OpenBLAS 0.3.21 (SKYLAKEX); oneDNN 2.6.3"
  std::string openblas_core;     // "SkylakeX"
  std::string kernels;           // how they are chosen
  double prepare_seconds = 0.0;  // that the libraries took to compile these products
  std::string transports;        // what transport auto chose
  std::string data;
  std::vector<std::string> data_remarks;  // sentences
  std::vector<std::string> idle;          // "--zero 3": options without effect on this grid
  std::string word;                       // "byte" or "token"
  double unigram_nats = 0.0;              // a word, of the held-out part
  StepWork work;
  MemoryUse counted;             // on one rank, at its peak; of the stage that needs most
  std::int64_t step = 0;         // steps done before this run
  double trained_seconds = 0.0;  // in them
  double warm_up_seconds = 0.0;  // of them, to the end of the warm-up
};

// Work and memory of a step as the schedules of its stages count them; the peak is left out.
StepWork counted_work(const TrainSettings& settings);
MemoryUse counted_memory(const TrainSettings& settings);

std::string cpu_text();

std::string header_text(const TrainSettings& settings, const RunFacts& facts);
std::string header_json(const TrainSettings& settings, const RunFacts& facts);

// "memory: VmHWM has grown by ...", of the rank that has grown most; `before` is what was resident
// when growth began.
std::string growth_text(std::int64_t grown_bytes, std::int64_t before_bytes,
                        const MemoryUse& counted);

}  // namespace fourfold::inline engine::inline train::inline run
