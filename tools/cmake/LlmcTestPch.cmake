# Precompiled headers of tests. A header serves sources with the same flags only: LlmcTestPch those without MLIR,
# LlmcMlirTestPch those that link LlmcMlirPch, which turns exceptions off.

# Tests are compiled more often than they run for long: their own code is not optimised, what they test is.
add_library(LlmcTestOptions INTERFACE)
target_compile_options(LlmcTestOptions INTERFACE -O0)

# llmc_find_linked(VARIABLE target…): all targets that the given ones link, themselves among them.
function(llmc_find_linked variable)
  set(found)
  set(open ${ARGN})
  while(open)
    list(POP_FRONT open target)
    if(TARGET ${target} AND NOT target IN_LIST found)
      list(APPEND found ${target})
      get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
      if(linked)
        list(APPEND open ${linked})
      endif()
    endif()
  endwhile()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# llmc_add_test_pch(NAME libs…): an object library that builds the header with the flags of a program that links libs.
function(llmc_add_test_pch name)
  find_package(GTest REQUIRED)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/test/support/Pch.cpp)
  target_link_libraries(${name} PRIVATE LlmcTestOptions LlmcRuntimeFormat GTest::gmock ${ARGN})
  # As programs are, not as libraries.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_precompile_headers(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/test/support/Pch.h>")
endfunction()

# llmc_reuse_test_pch(TARGET libs…): TARGET, a program that links libs, uses the header that fits.
function(llmc_reuse_test_pch target)
  llmc_find_linked(linked ${ARGN})
  if(LlmcMlirPch IN_LIST linked)
    target_precompile_headers(${target} REUSE_FROM LlmcMlirTestPch)
  else()
    target_precompile_headers(${target} REUSE_FROM LlmcTestPch)
  endif()
endfunction()
