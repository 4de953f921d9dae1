# cmake -DPROGRAM=path [-DEMULATOR="a;b"] -DPREFIX=e2e/ops -DOUTPUT=out.cmake -DTIMEOUT=s -DCOST=n "-DLABELS=a;b"
#   "-DENVIRONMENT=A=B;C=D" -P DiscoverSuites.cmake
# Writes a file for CTest in which each suite of a GoogleTest program is a test PREFIX/SUITE. COST is of one case: CTest
# begins what costs most first. A suite all of whose cases are skipped is; of others the output says which cases were.

execute_process(COMMAND ${EMULATOR} ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE lines RESULT_VARIABLE result TIMEOUT 60)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests ended with ${result}:\n${lines}")
endif()

# Names have no brackets and semicolons; the values of parameters behind # may.
string(REGEX REPLACE " *#[^\n]*" "" lines "${lines}")
string(REGEX MATCHALL "\n[^ \n]+\\.(\n  [^\n]+)+" suites "\n${lines}")
set(script "")
foreach(suite IN LISTS suites)
  string(REGEX MATCH "^\n([^\n]+)\\.\n" _ "${suite}")
  set(name ${CMAKE_MATCH_1})
  string(REGEX MATCHALL "\n  " cases "${suite}")
  list(LENGTH cases num_cases)
  math(EXPR cost "${num_cases} * ${COST}")
  string(APPEND script "add_test(\"${PREFIX}/${name}\"")
  foreach(word IN LISTS EMULATOR PROGRAM)
    string(APPEND script " \"${word}\"")
  endforeach()
  string(APPEND script " \"--gtest_filter=${name}.*\")
set_tests_properties(\"${PREFIX}/${name}\" PROPERTIES TIMEOUT ${TIMEOUT} COST ${cost}
  LABELS \"${LABELS}\" ENVIRONMENT \"${ENVIRONMENT}\"
  SKIP_REGULAR_EXPRESSION [==[\\[  PASSED  \\] 0 tests\\.
(\\[  SKIPPED \\] [^
]*
)+$]==])
")
endforeach()
file(WRITE ${OUTPUT} "${script}")
