// What a machine says about itself before a study: read from the system, from the libraries, and
// from two ranks that were started for it. Values, so that tests make up machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourfold::inline bench::inline doctor {

// OpenBLAS as it comes up in this environment.
struct BlasFacts {
  std::string libraries;              // "OpenBLAS 0.3.21 with SkylakeX kernels, oneDNN 2.6.3"
  std::string core;                   // "SkylakeX"
  std::optional<std::string> better;  // OPENBLAS_CORETYPE for faster kernels, where there are some
  double gflops = 0.0;                // of a product that fits into a cache
  double better_gflops = 0.0;         // with `better`; 0 where that was not measured
  double onednn_gflops = 0.0;
};

// Two ranks of this machine, started by mpirun as it is set up here.
struct MpiFacts {
  std::string failure;             // why no ranks could be started; empty where they could
  double latency_us = 0.0;         // half a round trip of 8 bytes, the shortest
  double bandwidth_GBps = 0.0;     // of messages of 4 MiB, the fastest
  bool one_node = true;            // the library sees shared memory between them
  std::vector<std::string> cores;  // by rank: those it may run on, as "0" or "0-3"
};

struct Facts {
  BlasFacts blas;
  MpiFacts mpi;
  std::optional<std::string> only_transports;  // OMPI_MCA_btl, where it is set
  bool may_read_other_memory = true;           // process_vm_readv between processes
  std::int64_t cores = 1;                      // online
  std::int64_t usable_cores = 1;               // this process may run on
  std::optional<double> core_quota;            // of the control group, in cores
  double load = 0.0;                           // processes that want to run, mean of a minute
  std::vector<std::string> governors;          // distinct ones; empty where there are none
  std::string clock = "tsc";                   // clock source of the kernel
  std::optional<std::int64_t> address_space, open_files, processes;  // limits; none: unlimited
  std::int64_t shared_memory_bytes = 0;                              // free in /dev/shm
  std::int64_t memory_bytes = 0;                                     // available without swapping
  bool network_adapter = false;                                      // InfiniBand or alike
  std::optional<std::int64_t> locked_memory;                         // limit; none: unlimited
  std::vector<std::string> missing_tools;  // of those that the verbs start
  bool timing_library_debug = false;
  double timing_turn_seconds = 0.0;
};

}  // namespace fourfold::inline bench::inline doctor
