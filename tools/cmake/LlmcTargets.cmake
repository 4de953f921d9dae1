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

# llmc_add_unittest(NAME SOURCES a_test.cpp … [LINK libs…] [LABELS l…] [ENVIRONMENT "A=B"…])
# A GoogleTest executable; every TEST in it is one CTest test, labelled `unit` unless LABELS says otherwise. The target
# LlmcUnitTests builds all of those.
function(llmc_add_unittest name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} LlmcCompileOptions LlmcTestOptions GTest::gtest GTest::gtest_main)
  llmc_reuse_test_pch(${name} ${ARG_LINK})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
    if(NOT TARGET LlmcUnitTests)
      add_custom_target(LlmcUnitTests)
    endif()
    add_dependencies(LlmcUnitTests ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_LIST ${name}_tests)
  # gtest_discover_tests would flatten lists, so the properties are set by a file that CTest reads after the discovery.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake
    "set_tests_properties(\${${name}_tests} PROPERTIES
  TIMEOUT ${ARG_TIMEOUT} LABELS \"${ARG_LABELS}\" ENVIRONMENT \"${ARG_ENVIRONMENT}\")\n")
  set_property(DIRECTORY APPEND PROPERTY
    TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake)
endfunction()
