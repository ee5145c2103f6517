# Run as a script after a test program was linked: writes, for ctest, one test per suite of the program, so that
# what a suite sets up (a rendered scene, a loaded model, a finished run) is made once and not once a case. With
# TOGETHER all suites but the long ones are one test: where every process costs seconds.
#   cmake -DPROGRAM=… -DPREFIX=… -DLONG=a,b -DLEFT_OUT=c,d.OneCase -DTOGETHER=ON -DTIMEOUT=… -DOUTPUT=tests.cmake
#         -P DiscoverSuites.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE failed TIMEOUT 60)
if(failed)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: ${failed}\n${listed}")
endif()
string(REPLACE "," ";" LONG "${LONG}")
string(REPLACE "," ";" LEFT_OUT "${LEFT_OUT}")
string(REGEX REPLACE "[[;#]" "_" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")

set(text "")
# add(NAME COST SUITE…): one test of these suites, without the cases that are left out.
function(add name cost)
  list(TRANSFORM ARGN APPEND ".*" OUTPUT_VARIABLE suites)
  list(JOIN suites ":" filter)
  set(without "")
  foreach(suite ${ARGN})
    set(cases ${LEFT_OUT})
    list(FILTER cases INCLUDE REGEX "^${suite}\\.")
    list(APPEND without ${cases})
  endforeach()
  if(without)
    list(JOIN without ":" without)
    string(APPEND filter "-${without}")
  endif()
  set(test "[==[${PREFIX}.${name}]==]")
  # Skipped: nothing passed and nothing failed. A suite all of whose tests fail says "0 tests" as well.
  string(APPEND text "add_test(${test} \"${PROGRAM}\" \"--gtest_filter=${filter}\")\n"
                     "set_tests_properties(${test} PROPERTIES TIMEOUT ${TIMEOUT} COST ${cost} SKIP_REGULAR_EXPRESSION \"\\\\[  PASSED  \\\\] 0 tests\\\\.\\n(\\\\[  SKIPPED \\\\][^\\n]*\\n)+$\")\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

set(others "")
foreach(line ${lines})
  if(line MATCHES "^([^ ].*)\\.( |$)")
    set(suite ${CMAKE_MATCH_1})
    if(suite IN_LIST LEFT_OUT)
      continue()
    elseif(suite IN_LIST LONG)
      add(${suite} 1000 ${suite})  # started first, so that none of them is waited for at the end
    elseif(TOGETHER)
      list(APPEND others ${suite})
    else()
      add(${suite} 0 ${suite})
    endif()
  endif()
endforeach()
if(others)
  add(others 0 ${others})
endif()
file(WRITE ${OUTPUT} "${text}")
