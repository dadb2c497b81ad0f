# Libraries made of rooms (folders), what of them is compiled as one unit, and the precompiled headers
# they share.

option(FOURFOLD_UNITY "Compile sources that share headers together: a whole build is short" ON)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# fourfold_unity(<target> <its sources>): compiles together those that unity.py groups, which it does
# anew when one of them has changed.
function(fourfold_unity target)
  if(NOT FOURFOLD_UNITY)
    return()
  endif()
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/unity.py
                          ${PROJECT_SOURCE_DIR} ${ARGN}
                  OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.+)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# fourfold_library(<name> FOLDERS <rooms> LINKS <targets> [MAIN <source of an executable's main>]
#                  [APART]): APART, each source is a unit of its own.
function(fourfold_library name)
  cmake_parse_arguments(PARSE_ARGV 1 room "APART" "MAIN" "FOLDERS;LINKS")
  set(sources)
  foreach(folder ${room_FOLDERS})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  if(room_MAIN)
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/${room_MAIN})
  endif()
  add_library(${name} ${sources})
  if(NOT room_APART)
    fourfold_unity(${name} ${sources})
  endif()
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
