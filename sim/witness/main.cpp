// fourfold-witness: an MPI program that walks one training step, compiled by smpicxx and run by
// smpirun on an exported platform. It knows neither flows nor footprints: SimGrid's simulation of
// MPI decides how long messages take.
//
//   smpirun -platform PLATFORM.xml -hostfile HOSTS -np N fourfold-witness LISTING [barrier]
//
// A device is several single-threaded processes on its host, as compute stream and channels of a
// GPU run side by side: rank d walks the steps of device d, and rank (1 + l) ranks + d carries its
// collectives on channel l, each ring step by step. HOSTS lists a host per device, so that smpirun,
// which deals hosts out in turn, puts the processes of a device on its host.
//
// `barrier`: the members of a group meet in a barrier before every collective and then pay its
// whole delay, as fourfold-replay assumes. Else a member enters the ring when it gets there, and
// each step pays its part of the delay.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/witness/listing.hpp"

namespace {

using fourfold::Class;
using fourfold::Listing;
using fourfold::Ring;
using fourfold::Step;

constexpr int post_tag = 1000;  // above the tags of rings, which are their numbers
constexpr int done_tag = 1001;

enum class Start { free, barrier };

// One process per device on this channel: whom it receives from and sends to, in each ring, of
// pairs at each distance, or in both directions of a line.
struct Place {
  double share = 1.0;
  int previous = 0;  // world ranks
  int next = 0;
};

std::vector<Place> places_of(const Listing& listing, int channel, int device) {
  std::vector<Place> places;
  const int first = (1 + channel) * listing.ranks;
  for (const Ring& ring : listing.channels[channel].rings) {
    const auto here = std::find(ring.ranks.begin(), ring.ranks.end(), device);
    if (here == ring.ranks.end()) continue;
    const std::size_t n = ring.ranks.size();
    const std::size_t place = here - ring.ranks.begin();
    const auto rank = [&](std::size_t at) { return first + ring.ranks[at % n]; };
    if (ring.kind == Ring::Kind::ring) {
      places.push_back({ring.share, rank(place + n - 1), rank(place + 1)});
    } else if (ring.kind == Ring::Kind::pairs) {
      for (std::size_t shift = 1; shift < n; ++shift) {
        places.push_back(
            {1.0 / static_cast<double>(n - 1), rank(place + n - shift), rank(place + shift)});
      }
    } else {
      const int before = place > 0 ? rank(place - 1) : MPI_PROC_NULL;
      const int after = place + 1 < n ? rank(place + 1) : MPI_PROC_NULL;
      const double share = n > 2 ? 0.5 : 1.0;
      places.push_back({share, before, after});
      places.push_back({share, after, before});
    }
  }
  return places;
}

// All devices that share a ring with this one have the same lowest member.
int group_of(const Listing& listing, int channel, int device) {
  for (const Ring& ring : listing.channels[channel].rings) {
    if (std::find(ring.ranks.begin(), ring.ranks.end(), device) != ring.ranks.end()) {
      return *std::min_element(ring.ranks.begin(), ring.ranks.end());
    }
  }
  throw std::runtime_error("device " + std::to_string(device) + " is in no ring of channel " +
                           listing.channels[channel].name);
}

int message_bytes(double bytes) {
  if (bytes > std::numeric_limits<int>::max()) {
    throw std::runtime_error("a step of a ring sends more than 2 GiB, which MPI cannot count");
  }
  return std::max(1, static_cast<int>(bytes + 0.5));
}

// `scratch` is sent and received at once: what is in it does not matter.
void ring_step(const std::vector<Place>& places, double bytes, void* scratch) {
  std::vector<MPI_Request> requests;
  for (std::size_t c = 0; c < places.size(); ++c) {
    const int count = message_bytes(bytes * places[c].share);
    const int tag = static_cast<int>(c);
    MPI_Irecv(scratch, count, MPI_BYTE, places[c].previous, tag, MPI_COMM_WORLD,
              &requests.emplace_back());
    MPI_Isend(scratch, count, MPI_BYTE, places[c].next, tag, MPI_COMM_WORLD,
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

// A step lasts at least as long as the protocol needs for its bytes.
void ring(const Class& collective, const std::vector<Place>& places, Start start, void* scratch) {
  using simgrid::s4u::this_actor::sleep_for;
  const double bytes = collective.bytes / collective.steps;
  if (start == Start::barrier) sleep_for(collective.delay_s);
  for (int step = 0; step < collective.steps; ++step) {
    if (start == Start::free) sleep_for(collective.delay_s / collective.steps);
    const double begin = MPI_Wtime();
    ring_step(places, bytes, scratch);
    const double end = begin + bytes / collective.bytes_per_s;
    if (end > MPI_Wtime()) sleep_for(end - MPI_Wtime());
  }
}

// Memory for the largest message, one for all processes: under SMPI they share an address space,
// and what lies in shared memory SMPI does not copy.
void* common_scratch(const Listing& listing, int rank) {
  double largest = 0.0;
  for (const Class& one : listing.classes) largest = std::max(largest, one.bytes / one.steps);
  std::uintptr_t address = 0;
  if (rank == 0) {
    address = reinterpret_cast<std::uintptr_t>(SMPI_SHARED_MALLOC(message_bytes(largest)));
  }
  MPI_Bcast(&address, sizeof address, MPI_BYTE, 0, MPI_COMM_WORLD);
  return reinterpret_cast<void*>(address);
}

// What the processes of a channel have.
struct Carrier {
  int channel = 0;
  int device = 0;
  MPI_Comm group = MPI_COMM_NULL;
  void* scratch = nullptr;
};

void carry(const Listing& listing, const Carrier& carrier, Start start) {
  const auto [channel, device, group, scratch] = carrier;
  const std::vector<Place> places = places_of(listing, channel, device);
  int token = 0;
  for (const Step& step : listing.steps) {
    if (step.kind != Step::Kind::post || step.channel != channel) continue;
    MPI_Recv(&token, 1, MPI_INT, device, post_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (start == Start::barrier) MPI_Barrier(group);
    ring(listing.classes[step.number], places, start, scratch);
    MPI_Send(&token, 1, MPI_INT, device, done_tag, MPI_COMM_WORLD);
  }
}

void walk(const Listing& listing, int device) {
  std::vector<int> done(listing.channels.size());
  int token = 0;
  for (const Step& step : listing.steps) {
    const int carrier = (1 + step.channel) * listing.ranks + device;
    if (step.kind == Step::Kind::compute) {
      simgrid::s4u::this_actor::sleep_for(step.seconds[listing.paces[device]]);
    } else if (step.kind == Step::Kind::post) {
      MPI_Send(&token, 1, MPI_INT, carrier, post_tag, MPI_COMM_WORLD);
    } else {
      for (int& count = done[step.channel]; count <= step.number; ++count) {
        MPI_Recv(&token, 1, MPI_INT, carrier, done_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
  }
}

void run(const std::string& path, Start start) {
  const Listing listing = fourfold::read_listing(path);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int needed = listing.ranks * (1 + static_cast<int>(listing.channels.size()));
  if (size != needed) {
    throw std::runtime_error("the listing has " + std::to_string(listing.ranks) + " ranks and " +
                             std::to_string(listing.channels.size()) + " channels: start " +
                             std::to_string(needed) + " processes, not " + std::to_string(size));
  }
  const int device = rank % listing.ranks;
  const int channel = rank / listing.ranks - 1;
  MPI_Comm group = MPI_COMM_NULL;
  const int color =
      channel < 0 ? 0 : 1 + channel * listing.ranks + group_of(listing, channel, device);
  MPI_Comm_split(MPI_COMM_WORLD, color, device, &group);
  void* scratch = common_scratch(listing, rank);
  MPI_Barrier(MPI_COMM_WORLD);

  const double begin = MPI_Wtime();
  if (channel < 0) {
    walk(listing, device);
  } else {
    carry(listing, {channel, device, group, scratch}, start);
  }
  const double seconds = MPI_Wtime() - begin;

  double longest = 0.0;
  MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%.9f\n", longest);
  MPI_Comm_free(&group);
  if (rank == 0) SMPI_SHARED_FREE(scratch);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string start = argc == 3 ? argv[2] : "";
  if (argc < 2 || argc > 3 || (argc == 3 && start != "barrier")) {
    std::fputs("usage: smpirun ... fourfold-witness LISTING [barrier]\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  try {
    run(argv[1], argc == 3 ? Start::barrier : Start::free);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fourfold-witness: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
