// Hosts as schedulers and mpirun list them, and which nodes of a machine they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline words {

// Names in their order, each once: of $SLURM_JOB_NODELIST ("nid[001-003,007]" is four), of a file
// of PBS, LSF or mpirun with a host a line. Domains, slots and what follows a # do not count.
// Throws std::runtime_error with a sentence that begins with `where`.
std::vector<std::string> host_names(const std::string& text, const std::string& where);

// Of each its place among `all`, the machine's hosts in their order; where that is empty, the
// number that its name ends in, counted from that of `first` or, where that is empty, from the
// least. Throws the same, where names tell no nodes.
std::vector<std::int64_t> nodes_of_hosts(const std::vector<std::string>& hosts,
                                         const std::vector<std::string>& all,
                                         const std::string& first, const std::string& where);

}  // namespace fourfold::inline scaling::inline words
