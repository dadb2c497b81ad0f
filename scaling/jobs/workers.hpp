// Tasks done by forks of this process, several at a time: each has its own memory, and what one of
// them dies of does not end the others.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace fourfold::inline scaling::inline jobs {

// Done in a worker; what it tells, a line each, is heard where the work was shared out. What it
// throws is the reason why the task failed.
using Tell = std::function<void(const std::string& line)>;
using DoTask = std::function<void(std::size_t task, const Tell& tell)>;

// Called where the work is shared out.
struct Ears {
  std::function<std::optional<std::size_t>()> next;  // a task to begin now, if there is one
  std::function<void(std::size_t task, const std::string& line)> hear;
  // `why` it failed, or empty; `died`: its worker did, which is none of the task's own sentences.
  std::function<void(std::size_t task, const std::string& why, bool died)> end;
  std::function<void()> tick = [] {};  // a few times a second
};

// Returns when no worker has a task and there is no next one. Throws Interrupted after a signal;
// whatever ends this process ends the workers, and what they have started, too. A worker that has
// nothing to do leaves its place to what the others start (slots.hpp).
void share_out(std::size_t workers, const DoTask& work, const Ears& ears);

}  // namespace fourfold::inline scaling::inline jobs
