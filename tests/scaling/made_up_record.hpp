// Records with made-up numbers for the tests of what records go through.
#pragma once

#include "scaling/records/record.hpp"
#include "tests/channels.hpp"

namespace fourfold::tests {

// A simulated record of gpt-80b on 8,192 devices of frontier; every optional part is there.
inline Record made_up_record() {
  Record record;
  record.key = "0123456789abcdef";
  record.fidelity = Fidelity::simulated;
  record.point.platform = "frontier";
  record.point.scales = {{"nodes", 1.0}};
  record.point.model = {"gpt-80b", 42, 12'288, 96, 2048, 32'000};
  record.point.grid = ProcessGrid(2, 8, 32, 16);
  record.point.options.micro_batches = 2;
  record.point.what_ifs.jitter_percent = 2.0;
  record.uniform = Seconds{19.5};
  record.outcome.channels = made_up_channels();
  record.outcome.total = {20.0};
  record.outcome.compute = {15.0};
  record.outcome.exposed = {{1.0}, {0.5}, {2.0}, {1.0}, {0.5}};
  record.outcome.busy = {{2.0}, {1.0}, {9.0}, {4.0}, {1.0 / 3.0}};
  record.estimated = {16.0};
  record.memory = {30.25e9};
  record.memory_limit = {54.4e9};
  record.memory_by_role = {{{2e9}, {6e9}, {4e9}, {15.25e9}, {3e9}}};
  record.executed = {1.5e15};
  record.sent = {{1e9}, {2e9}, {3e9}, {4e9}, {5e9}};
  record.model_flops = {1e19};
  record.advertised_peak = {191.5e12};
  record.empirical_peak = {125e12};
  record.tried = 100;
  record.feasible = 60;
  record.rejected = {{"memory", 30}, {"heads", 10}};
  record.best_grids = {{ProcessGrid(2, 8, 32, 16), 2, {16.0}, {{20.0}}, {3.5}},
                       {ProcessGrid(4, 4, 32, 16), 2, {17.0}, {{20.5}}, {3.5}},
                       {ProcessGrid(8, 2, 32, 16), 1, {18.0}, {}, {3.5}}};
  record.simulated = {record.best_grids[0], record.best_grids[1]};
  record.verdict = "settled";
  record.tau = 1.0;
  record.regret = 0.0;
  record.replay =
      ReplayAnswer{record.outcome, true, 1e-9, 52'096, 1'000'000, 3.5, 70.25, "3.32", {}};
  record.software = "axonn-litgpt";
  record.software_by = "machine";
  record.bar =
      ErrorBar{-0.0625, 0.5, "on MI250X and sharded", 12, 4, -0.125, 0.75, {"nodes"}, 0.03, 40};
  record.platform_title = "Frontier, made up";
  record.platform_digest = "fedcba9876543210";
  record.provenance = {"358f1fb00000",
                       "GNU 12.2.0",
                       "Release",
                       "fmt 9.1.0",
                       "3.32",
                       "00ff00ff00ff00ff",
                       "vm",
                       "AMD EPYC",
                       "2026-11-21T10:00:00Z",
                       0};
  return record;
}

}  // namespace fourfold::tests
