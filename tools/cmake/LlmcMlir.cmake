# MLIR 22 from the distribution's packages, and functions for code that uses it.
# Only the two shared libraries MLIR and LLVM are linked: mixing in the per-component archives doubles TypeIDs.

find_program(LLMC_LLVM_CONFIG NAMES llvm-config-22 REQUIRED)
execute_process(COMMAND ${LLMC_LLVM_CONFIG} --cmakedir OUTPUT_VARIABLE LLMC_LLVM_CMAKE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${LLMC_LLVM_CONFIG} --bindir OUTPUT_VARIABLE LLMC_LLVM_BIN_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
find_package(MLIR 22.1 REQUIRED CONFIG PATHS ${LLMC_LLVM_CMAKE_DIR}/../mlir NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})

# The precompiled header is built once, with the flags of this library, and reused by every MLIR library.
add_library(LlmcMlirPch STATIC ${PROJECT_SOURCE_DIR}/dialects/Support/Pch.cpp)
target_link_libraries(LlmcMlirPch PUBLIC LlmcCompileOptions MLIR LLVM)
target_compile_options(LlmcMlirPch PUBLIC "$<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(LlmcMlirPch PUBLIC "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  target_precompile_headers(LlmcMlirPch PRIVATE ${PROJECT_SOURCE_DIR}/dialects/Support/Pch.h)
endif()

# llmc_add_mlir_library(NAME SOURCES a.cpp … [DEPENDS tablegen targets…] [LINK libs…] [EXCEPTIONS])
# EXCEPTIONS: for a file set that calls libraries which throw; such a library does not share the precompiled header.
function(llmc_add_mlir_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_EXCEPTIONS)
    target_link_libraries(${name} PUBLIC LlmcCompileOptions MLIR LLVM ${ARG_LINK})
  else()
    target_link_libraries(${name} PUBLIC LlmcMlirPch ${ARG_LINK})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_precompile_headers(${name} REUSE_FROM LlmcMlirPch)
    endif()
  endif()
  # One precompiled header does more than many sources in one, and generated code defines macros.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# llmc_add_dialect(STEM mnemonic): generates STEMOps, STEMDialect, STEMAttrs, STEMTypes and STEMEnums .inc files
# from STEMOps.td in the current folder; target LlmcDialectsSTEMIncGen.
function(llmc_add_dialect stem mnemonic)
  set(LLVM_TARGET_DEFINITIONS ${stem}Ops.td)
  mlir_tablegen(${stem}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${stem}Ops.cpp.inc -gen-op-defs)
  mlir_tablegen(${stem}Dialect.h.inc -gen-dialect-decls -dialect=${mnemonic})
  mlir_tablegen(${stem}Dialect.cpp.inc -gen-dialect-defs -dialect=${mnemonic})
  mlir_tablegen(${stem}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${mnemonic})
  mlir_tablegen(${stem}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${mnemonic})
  mlir_tablegen(${stem}Types.h.inc -gen-typedef-decls -typedefs-dialect=${mnemonic})
  mlir_tablegen(${stem}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${mnemonic})
  mlir_tablegen(${stem}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${stem}Enums.cpp.inc -gen-enum-defs)
  add_public_tablegen_target(LlmcDialects${stem}IncGen)
endfunction()

# llmc_add_passes(STEM): Passes.td in the current folder → Passes.h.inc; target STEMPassesIncGen.
function(llmc_add_passes stem)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${stem})
  add_public_tablegen_target(${stem}PassesIncGen)
endfunction()
