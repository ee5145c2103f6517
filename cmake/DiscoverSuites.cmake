# Run as a script after a test program was linked: writes, for ctest, one test per suite of the program, so that
# what a suite sets up (a rendered scene, a loaded model, a finished run) is made once and not once a case.
#   cmake -DPROGRAM=… -DPREFIX=… -DLONG=a,b -DTIMEOUT=… -DOUTPUT=tests.cmake -P DiscoverSuites.cmake
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE failed TIMEOUT 60)
if(failed)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: ${failed}\n${listed}")
endif()
string(REPLACE "," ";" LONG "${LONG}")
string(REGEX REPLACE "[[;#]" "_" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")
set(text "")
foreach(line ${lines})
  if(line MATCHES "^([^ ].*)\\.( |$)")
    set(suite ${CMAKE_MATCH_1})
    set(test "[==[${PREFIX}.${suite}]==]")
    string(APPEND text "add_test(${test} \"${PROGRAM}\" \"--gtest_filter=${suite}.*\")\n")
    set(cost 0)
    if(suite IN_LIST LONG)
      set(cost 1000)  # started first, so that none of them is waited for at the end
    endif()
    string(APPEND text "set_tests_properties(${test} PROPERTIES TIMEOUT ${TIMEOUT} COST ${cost} SKIP_REGULAR_EXPRESSION \"\\\\[  PASSED  \\\\] 0 tests\")\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "${text}")
