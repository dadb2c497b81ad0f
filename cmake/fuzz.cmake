# The fuzzing harness, built when asked for: the readers of everything that people hand in, and no more,
# under ASan and UBSan.
file(GLOB fuzzed CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/support/*.cpp ${PROJECT_SOURCE_DIR}/schedule/collectives/*.cpp
     ${PROJECT_SOURCE_DIR}/schedule/program/*.cpp ${PROJECT_SOURCE_DIR}/platforms/file/*.cpp
     ${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp)
foreach(source schedule/models/model schedule/models/model_file schedule/models/model_template
               schedule/models/foreign_config schedule/models/foreign_families schedule/models/foreign_keys
               schedule/models/layer_pattern schedule/models/launch_words
               platforms/platform platforms/software platforms/software_memory platforms/network/network scaling/systems/system scaling/systems/rules
               sim/question/point sim/cost/collective_tuning sim/conditions/what_ifs
               sim/conditions/what_ifs_json scaling/words/what_if_words scaling/words/host_list scaling/words/output
               scaling/calibrate/collective_log scaling/calibrate/log_json scaling/calibrate/log_line
               scaling/calibrate/log_ranks scaling/calibrate/log_run scaling/calibrate/log_table
               scaling/calibrate/measured_file scaling/study/loss_table
               scaling/study/memorisation scaling/bars/deviations
               engine/train/checkpoint/foreign_layout scaling/words/toml_file scaling/study/published scaling/words/cell_table
               engine/train/checkpoint/checkpoint_record engine/train/checkpoint/checkpoint_checksum
               engine/train/checkpoint/safetensors engine/train/data/token_file
               engine/train/data/documents engine/train/data/file_kind)
  list(APPEND fuzzed ${PROJECT_SOURCE_DIR}/${source}.cpp)
endforeach()
add_executable(fuzz EXCLUDE_FROM_ALL ${fuzzed})
target_compile_definitions(fuzz PRIVATE FOURFOLD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
# g++ 12 calls parts of its own <regex> uninitialised where the sanitizers are on.
target_compile_options(fuzz PRIVATE -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
                                    -Wno-maybe-uninitialized)
target_link_options(fuzz PRIVATE -fsanitize=address,undefined)
target_link_libraries(fuzz PRIVATE fourfold_options CLI11::CLI11 nlohmann_json::nlohmann_json fmt::fmt
                                   tomlplusplus::tomlplusplus PkgConfig::MPI)
