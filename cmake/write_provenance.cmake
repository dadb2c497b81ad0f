# Script: writes provenance.cpp from the variables that cmake/provenance.cmake passes and from git.
# Without git, or outside a clone, the commit is "unknown".
set(commit unknown)
find_program(GIT_PROGRAM git)
if(GIT_PROGRAM)
  # safe.directory: a clone may belong to another user; --no-optional-locks: only looking.
  set(git ${GIT_PROGRAM} --no-optional-locks -c safe.directory=* -C ${source_dir})
  execute_process(COMMAND ${git} rev-parse --show-toplevel OUTPUT_VARIABLE top
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE refused ERROR_QUIET)
  file(REAL_PATH ${source_dir} real_source_dir)
  if(NOT refused AND top STREQUAL real_source_dir)
    execute_process(COMMAND ${git} rev-parse --short=12 HEAD OUTPUT_VARIABLE head
                    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE refused ERROR_QUIET)
    execute_process(COMMAND ${git} status --porcelain OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT refused)
      set(commit ${head})
      if(changes)
        string(APPEND commit -dirty)
      endif()
    endif()
  endif()
endif()

configure_file(${CMAKE_CURRENT_LIST_DIR}/provenance.cpp.in ${output} @ONLY)
