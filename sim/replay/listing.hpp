// One training step as flat text that a program which shares no code with us can walk: what
// fourfold-witness reads.
#pragma once

#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "schedule/program/process_grid.hpp"
#include "sim/cost/timed_program.hpp"

namespace fourfold::inline sim::inline replay {

// Rank r runs on device r. Lines, seconds and bytes in full precision:
//
//   ranks 16
//   class 3 1.2e-4 8e6 2e10 6       number, delay s, bytes a member sends, bytes/s at most, steps
//   ring z_gather 0.5 0 4 8 12      channel, part of the bytes, ranks in the order of the ring
//   pairs x_exchange 0 1 2 3        instead of rings: each sends to each of the others, at once
//   line x_halo 0 1 2 3             each to the one before and the one after
//   pace 7 1                        rank 7 computes what stands second, others what stands first
//   compute 1.5e-3 3e-3             from here on: what every rank does, in order
//   post z_gather 3                 a collective of class 3
//   wait z_gather 0                 until collective 0 of the channel, counted from 0, is done
//
// Rings are those of the replay: in a node what the library finds there, over nodes of one member
// each a single one. Throws std::invalid_argument with a sentence where groups have several members
// on several nodes, as their rings switch NICs in ways that routes between devices cannot say.
//
// What kernels take from collectives beside them (library.interference) is not listed; what those
// take from kernels (processor.interference) is in the seconds of compute, at each pace its own.
//
// `factors` as in ReplayOptions::compute_factors: by rank, none for all 1.
std::string listing(const TimedProgram& program, const ProcessGrid& grid, const Platform& platform,
                    const std::vector<double>& factors = {});

}  // namespace fourfold::inline sim::inline replay
