# Functions that turn files into CTest tests.

find_package(Python3 3.8 REQUIRED COMPONENTS Interpreter)

# llmc_add_lit_tests(DIR… [FEATURES f…] [LABELS l…])
# Each .mlir or .test file below a folder DIR becomes one CTest test with one lit call, named by its path from test/.
# Files in a folder named Inputs are not tests. A new file is noticed by the next build.
function(llmc_add_lit_tests)
  cmake_parse_arguments(ARG "" "" "FEATURES;LABELS" ${ARGN})
  set(test_root ${PROJECT_SOURCE_DIR}/test)
  list(JOIN ARG_FEATURES "," features)
  foreach(dir IN LISTS ARG_UNPARSED_ARGUMENTS)
    get_filename_component(dir ${dir} ABSOLUTE)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${dir}/*.mlir ${dir}/*.test)
    list(FILTER files EXCLUDE REGEX "/Inputs/")
    foreach(file IN LISTS files)
      file(RELATIVE_PATH name ${test_root} ${file})
      add_test(NAME lit/${name}
        COMMAND ${Python3_EXECUTABLE} ${LLMC_LLVM_BIN_DIR}/lit -v --no-progress-bar --workers=1 ${file})
      set(environment
        LLMC_BUILD_DIR=${PROJECT_BINARY_DIR}
        LLMC_LIT_OUTPUT=${PROJECT_BINARY_DIR}/test/lit/${name}
        LLMC_LLVM_BIN_DIR=${LLMC_LLVM_BIN_DIR}
        LLMC_LIT_FEATURES=${features})
      set_tests_properties(lit/${name} PROPERTIES TIMEOUT 300 LABELS "lit;${ARG_LABELS}" ENVIRONMENT "${environment}")
    endforeach()
  endforeach()
endfunction()

# llmc_add_script_test(NAME COMMAND script arg… [SKIP_CODE n] [LABELS l…]): a script of the source tree as one CTest test.
# It runs at the root of the source tree; the exit code n says that it could not run here.
function(llmc_add_script_test name)
  cmake_parse_arguments(ARG "" "SKIP_CODE" "COMMAND;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS "scripts;${ARG_LABELS}")
  if(DEFINED ARG_SKIP_CODE)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE ${ARG_SKIP_CODE})
  endif()
endfunction()
