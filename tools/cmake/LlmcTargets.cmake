# Functions with keyword arguments that every folder's CMakeLists.txt uses.

add_library(LlmcCompileOptions INTERFACE)
target_include_directories(LlmcCompileOptions INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_options(LlmcCompileOptions INTERFACE -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden)
if(LLMC_SANITIZE)
  target_compile_options(LlmcCompileOptions INTERFACE -fsanitize=${LLMC_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(LlmcCompileOptions INTERFACE -fsanitize=${LLMC_SANITIZE})
endif()
if(LLMC_FUZZ)
  # A library's findings end the process too.
  target_compile_options(LlmcCompileOptions INTERFACE -fsanitize=fuzzer-no-link -fno-sanitize-recover=all)
endif()

# llmc_add_library(NAME SOURCES a.cpp … [DEPENDS targets…] [LINK libs…] [PRIVATE_LINK libs…])
# A static library of the runtime half: no MLIR.
function(llmc_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC LlmcCompileOptions ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# llmc_add_unittest(NAME SOURCES a_test.cpp … [LINK libs…] [LABELS l…] [ENVIRONMENT A=B…] [TIMEOUT s] [COST s])
# A GoogleTest executable; every suite in it is one CTest test, named by its path from test/ and labelled `unit` unless
# LABELS says otherwise. TIMEOUT: seconds for a suite. COST: about how many seconds a case takes, if not next to none. The
# target LlmcUnitTests builds all that are labelled so.
function(llmc_add_unittest name)
  cmake_parse_arguments(ARG "" "TIMEOUT;COST" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} LlmcCompileOptions LlmcTestOptions GTest::gtest GTest::gtest_main)
  llmc_reuse_test_pch(${name} ${ARG_LINK})
  # Files of tests have helpers of the same names.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 1200)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
    if(NOT TARGET LlmcUnitTests)
      add_custom_target(LlmcUnitTests)
    endif()
    add_dependencies(LlmcUnitTests ${name})
  endif()
  file(RELATIVE_PATH prefix ${PROJECT_SOURCE_DIR}/test ${CMAKE_CURRENT_SOURCE_DIR})
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
            -DPREFIX=${prefix} -DOUTPUT=${suites} -DTIMEOUT=${ARG_TIMEOUT} -DCOST=${ARG_COST} "-DLABELS=${ARG_LABELS}"
            "-DENVIRONMENT=${ARG_ENVIRONMENT}" -P ${PROJECT_SOURCE_DIR}/tools/cmake/DiscoverSuites.cmake
    BYPRODUCTS ${suites} VERBATIM)
  set(if_built ${CMAKE_CURRENT_BINARY_DIR}/${name}_if_built.cmake)
  file(WRITE ${if_built} "if(EXISTS \"${suites}\")
  include(\"${suites}\")
else()
  add_test(\"${prefix}/${name} is not built\" \"${name}\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${if_built})
endfunction()
