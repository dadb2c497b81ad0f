# fourfold-witness: compiled by SimGrid's own compiler wrapper, as its MPI is not Open MPI's. Without
# smpicxx the build goes on, and the test that needs the witness says what is missing.
find_program(SMPICXX_PROGRAM smpicxx)
if(SMPICXX_PROGRAM)
  set(witness ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fourfold-witness)
  file(GLOB witness_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/witness/*.cpp)
  file(GLOB witness_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/witness/*.hpp)
  add_custom_command(
    OUTPUT ${witness}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    COMMAND ${SMPICXX_PROGRAM} -std=c++20 -O2 -Wall -Wextra -I${PROJECT_SOURCE_DIR}
            ${witness_sources} -o ${witness}
    DEPENDS ${witness_sources} ${witness_headers}
    COMMENT "Compiling fourfold-witness with smpicxx"
    VERBATIM)
  add_custom_target(fourfold-witness ALL DEPENDS ${witness})
else()
  message(STATUS "smpicxx is missing (libsimgrid-dev has it): no fourfold-witness")
endif()
