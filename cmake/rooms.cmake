# Libraries made of rooms (folders), and the precompiled headers they share.

# fourfold_library(<name> FOLDERS <rooms> LINKS <targets> [MAIN <source of an executable's main>])
function(fourfold_library name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "MAIN" "FOLDERS;LINKS")
  set(sources)
  foreach(folder ${room_FOLDERS})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  if(room_MAIN)
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/${room_MAIN})
  endif()
  add_library(${name} ${sources})
  # A macro of its own for each library would keep shared ones from sharing precompiled headers.
  set_target_properties(${name} PROPERTIES DEFINE_SYMBOL "")
  target_link_libraries(${name} PUBLIC ${room_LINKS})
endfunction()

# What most units read anyway. A unit still includes what it uses: precompiling changes no meaning,
# and the build without it (-D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON) is the proof.
set(fourfold_standard_headers
    <algorithm> <array> <cmath> <cstdint> <filesystem> <fstream> <functional> <limits> <map>
    <memory> <numeric> <optional> <set> <sstream> <stdexcept> <string> <utility> <vector>)

# Only the standard library: a header of thousands of inline functions (JSON, command lines) costs a
# unit that does not use them four times what it saves one that does.
function(fourfold_precompile)
  target_precompile_headers(fourfold_schedule PRIVATE ${fourfold_standard_headers})
  foreach(library engine cpu mpi train platforms sim replay scaling bench)
    target_precompile_headers(fourfold_${library} REUSE_FROM fourfold_schedule)
  endforeach()
endfunction()
