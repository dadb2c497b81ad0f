// MPI's handles as move-only values that free what they own.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "engine/mpi/library.hpp"

namespace fourfold::inline engine::inline mpi {

// `Kind` names the handle type, its null value and how it is freed. An exception on the way to the
// end of the job frees nothing: freeing may be collective, and the other ranks are elsewhere.
template <typename Kind>
class MpiHandle {
 public:
  using Handle = typename Kind::Handle;

  MpiHandle() = default;
  explicit MpiHandle(Handle handle) : handle_(handle) {}
  MpiHandle(MpiHandle&& other) noexcept : handle_(std::exchange(other.handle_, Kind::null())) {}
  MpiHandle& operator=(MpiHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~MpiHandle() {
    if (handle_ == Kind::null() || std::uncaught_exceptions() > 0) return;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) Kind::release(&handle_);
  }

  Handle get() const { return handle_; }
  Handle* address() { return &handle_; }
  bool empty() const { return handle_ == Kind::null(); }

 private:
  Handle handle_ = Kind::null();
};

struct CommunicatorKind {
  using Handle = MPI_Comm;
  static Handle null() { return MPI_COMM_NULL; }
  static void release(Handle* handle) { MPI_Comm_free(handle); }
};

struct DatatypeKind {
  using Handle = MPI_Datatype;
  static Handle null() { return MPI_DATATYPE_NULL; }
  static void release(Handle* handle) { MPI_Type_free(handle); }
};

struct OperationKind {
  using Handle = MPI_Op;
  static Handle null() { return MPI_OP_NULL; }
  static void release(Handle* handle) { MPI_Op_free(handle); }
};

struct WindowKind {
  using Handle = MPI_Win;
  static Handle null() { return MPI_WIN_NULL; }
  static void release(Handle* handle) { MPI_Win_free(handle); }
};

// A request still under way is waited for, because its memory is about to be freed.
struct RequestKind {
  using Handle = MPI_Request;
  static Handle null() { return MPI_REQUEST_NULL; }
  static void release(Handle* handle) { MPI_Wait(handle, MPI_STATUS_IGNORE); }
};

using MpiCommunicator = MpiHandle<CommunicatorKind>;
using MpiDatatype = MpiHandle<DatatypeKind>;
using MpiOperation = MpiHandle<OperationKind>;
using MpiWindow = MpiHandle<WindowKind>;
using MpiRequest = MpiHandle<RequestKind>;

// The ranks of equal `color`, in the order of `key`; none for a rank without a color. Its errors
// are returned, and it carries a name.
inline MpiCommunicator split(MPI_Comm parent, std::optional<std::int64_t> color, std::int64_t key,
                             const std::string& name) {
  MPI_Comm made = MPI_COMM_NULL;
  check_mpi(
      MPI_Comm_split(parent, color ? mpi_count(*color) : MPI_UNDEFINED, mpi_count(key), &made),
      "MPI_Comm_split");
  MpiCommunicator communicator(made);
  if (communicator.empty()) return communicator;
  check_mpi(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_set_name(made, name.c_str()), "MPI_Comm_set_name");
  return communicator;
}

inline std::int64_t size_of(MPI_Comm communicator) {
  int size = 0;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  return size;
}

inline std::int64_t rank_in(MPI_Comm communicator) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  return rank;
}

inline bool completed(MpiRequest& request) {
  int flag = 0;
  check_mpi(MPI_Test(request.address(), &flag, MPI_STATUS_IGNORE), "MPI_Test");
  return flag != 0;
}

}  // namespace fourfold::inline engine::inline mpi
