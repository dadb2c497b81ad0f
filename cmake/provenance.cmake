# Generates provenance.cpp: what was built, by what, with what. Looked at on every build, but
# written (and so compiled again, this one file) only when the commit or a version has changed.
set(provenance_source ${PROJECT_BINARY_DIR}/generated/provenance.cpp)
string(JOIN ", " provenance_libraries "fmt ${fmt_VERSION}"
       "nlohmann-json ${nlohmann_json_VERSION}" "toml++ ${tomlplusplus_VERSION}"
       "CLI11 ${CLI11_VERSION}")

add_custom_target(
  fourfold_provenance
  COMMAND
    ${CMAKE_COMMAND} -D source_dir=${PROJECT_SOURCE_DIR} -D output=${provenance_source}
    -D "compiler=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    -D build_type=$<CONFIG> -D simgrid_version=${SIMGRID_VERSION}
    -D "libraries=${provenance_libraries}"
    -P ${PROJECT_SOURCE_DIR}/cmake/write_provenance.cmake
  BYPRODUCTS ${provenance_source}
  COMMENT "Looking at the commit"
  VERBATIM)
