# One helper per kind of target: a room (library + its tests), a program, a benchmark.

add_library(lumen_flags INTERFACE)
add_library(Lumen::flags ALIAS lumen_flags)
target_compile_options(lumen_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                       -fno-math-errno -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC sees ghosts in std::string's operator+ and in what it inlines of std::optional and std::variant; from
  # precompiled headers also those it keeps to itself in the standard library's own files.
  target_compile_options(lumen_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds
                         -Wno-stringop-overflow -Wno-stringop-overread -Wno-dangling-reference)
endif()
# Tests are compiled for soon, not for fast: what takes time in them lies in the rooms.
add_library(lumen_test_flags INTERFACE)
target_compile_options(lumen_test_flags INTERFACE -fPIC $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
if(LUMEN_WERROR)
  target_compile_options(lumen_flags INTERFACE -Werror)
endif()
# libFuzzer is to see which way an input goes through what reads bytes from outside; what computes is left alone, so
# that the same objects are good for the tests.
set(LUMEN_IS_FUZZED 0)
if(LUMEN_BUILD_FUZZ)
  set(LUMEN_IS_FUZZED $<BOOL:$<TARGET_PROPERTY:LUMEN_FUZZED>>)
endif()
if(LUMEN_SANITIZE)
  target_compile_options(lumen_flags INTERFACE -fsanitize=${LUMEN_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  # Checks at every access through a pointer, which the address sanitizer sees as well but for the alignment, double the
  # time to compile; they must be named behind what they are taken from.
  if(LUMEN_SANITIZE MATCHES undefined)
    target_compile_options(lumen_flags INTERFACE -fno-sanitize=null,object-size,vptr,pointer-overflow
                           $<$<NOT:${LUMEN_IS_FUZZED}>:-fno-sanitize=alignment>)
  endif()
  if(LUMEN_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(lumen_flags INTERFACE -Wno-tsan)  # of fences inside Boost, which has others as well
  endif()
  target_link_options(lumen_flags INTERFACE -fsanitize=${LUMEN_SANITIZE})
  target_compile_definitions(lumen_test_flags INTERFACE LUMEN_SANITIZED)
  if(LUMEN_SANITIZE MATCHES thread)
    target_compile_definitions(lumen_test_flags INTERFACE LUMEN_SANITIZED_THREADS)
  endif()
endif()
if(LUMEN_BUILD_FUZZ)
  target_compile_options(lumen_flags INTERFACE $<${LUMEN_IS_FUZZED}:-fsanitize=fuzzer-no-link>)
endif()
# lumen_fuzzed(SOURCE …): files of a room that otherwise computes.
function(lumen_fuzzed)
  if(LUMEN_BUILD_FUZZ)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fsanitize=fuzzer-no-link SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Headers that nearly every file reads, parsed once per kind of target instead of once per file: the standard
# library with Eigen for the rooms, GoogleTest besides for their tests, Torch besides for what trains. A file's
# own includes stay complete: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DLUMEN_UNITY=OFF builds.
set(LUMEN_PRECOMPILED <algorithm> <array> <cmath> <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional>
                      <sstream> <string> <thread> <unordered_map> <variant> <vector> <Eigen/Dense>)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "// Nothing: its target holds precompiled headers.\n")
# lumen_precompiled(NAME HEADERS … LINK …)
function(lumen_precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK" ${ARGN})
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${name} PRIVATE Eigen3::Eigen ${arg_LINK} lumen_flags)
  target_precompile_headers(${name} PRIVATE ${LUMEN_PRECOMPILED} ${arg_HEADERS})
endfunction()
lumen_precompiled(lumen_room_headers)
if(LUMEN_BUILD_TESTS)
  lumen_precompiled(lumen_test_headers HEADERS <gtest/gtest.h> LINK GTest::gtest lumen_test_flags)
endif()

# lumen_room(NAME [THREADED] [FUZZED] SOURCES … [TESTS …] [ROOMS …] [LINK …] [LINK_PRIVATE …] [TEST_ROOMS …] [TEST_LINK …] [TEST_LONG …] [TEST_SWEEPS …] [TEST_ONE_THREAD …])
# ROOMS are the rooms this one may enter: the link list is the layer table. FUZZED: it reads bytes from outside.
function(lumen_room name)
  cmake_parse_arguments(arg "THREADED;FUZZED" "" "SOURCES;TESTS;ROOMS;LINK;LINK_PRIVATE;TEST_ROOMS;TEST_LINK;TEST_LONG;TEST_SWEEPS;TEST_ONE_THREAD" ${ARGN})
  add_library(lumen_${name} STATIC ${arg_SOURCES})
  add_library(Lumen::${name} ALIAS lumen_${name})
  set_target_properties(lumen_${name} PROPERTIES EXPORT_NAME ${name} LUMEN_FUZZED ${arg_FUZZED})
  target_compile_features(lumen_${name} PUBLIC cxx_std_20)
  target_include_directories(lumen_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
  list(TRANSFORM arg_ROOMS PREPEND Lumen::)
  target_link_libraries(lumen_${name} PUBLIC ${arg_ROOMS} ${arg_LINK} PRIVATE $<BUILD_INTERFACE:lumen_flags> ${arg_LINK_PRIVATE})
  if(NOT (arg_FUZZED AND LUMEN_BUILD_FUZZ))  # which is compiled otherwise
    target_precompile_headers(lumen_${name} REUSE_FROM lumen_room_headers)
  endif()
  set_target_properties(lumen_${name} PROPERTIES UNITY_BUILD ${LUMEN_UNITY} UNITY_BUILD_BATCH_SIZE ${LUMEN_UNITY_ROOM})
  set_property(GLOBAL APPEND PROPERTY LUMEN_ROOMS lumen_${name})
  if(LUMEN_BUILD_TESTS AND arg_TESTS)
    list(TRANSFORM arg_TEST_ROOMS PREPEND Lumen::)
    set(threaded "")
    if(arg_THREADED)
      set(threaded THREADED)
    endif()
    lumen_test(lumen_${name}_test ${threaded} SOURCES ${arg_TESTS} LINK Lumen::${name} ${arg_TEST_ROOMS} ${arg_TEST_LINK} LONG ${arg_TEST_LONG} SWEEPS ${arg_TEST_SWEEPS} ONE_THREAD ${arg_TEST_ONE_THREAD})
  endif()
endfunction()

# lumen_test(NAME [THREADED] [HEADERS …] [LONG …] [SWEEPS …] [ONE_THREAD …] SOURCES … LINK …): a test program whose
# suites ctest sees one by one; those that take long are named, to be started first. Sanitizers slow a program down by
# ten and more: suites and cases that sweep through many scenes, where one tells a sanitizer as much (SWEEPS, which
# take long as well), are left out there; and the thread sanitizer has nothing to say about programs that run in one thread, nor
# about those suites of a THREADED one that meet no threads its other suites, or its rooms' own, do not meet (ONE_THREAD).
set(LUMEN_TEST_TIMEOUT 900)
if(LUMEN_SANITIZE)
  set(LUMEN_TEST_TIMEOUT 3000)
endif()
# The address sanitizer looks for leaks at every process's end, which takes four seconds on arm64.
set(LUMEN_TEST_TOGETHER OFF)
if(LUMEN_SANITIZE MATCHES address)
  set(LUMEN_TEST_TOGETHER ON)
endif()
function(lumen_test name)
  cmake_parse_arguments(arg "THREADED" "HEADERS" "SOURCES;LINK;LONG;SWEEPS;ONE_THREAD" ${ARGN})
  if(LUMEN_SANITIZE MATCHES thread AND NOT arg_THREADED)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} lumen_flags lumen_test_flags GTest::gtest_main)
  # As the precompiled headers are compiled: -fPIC, from the flags, where an executable would have -fPIE.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  if(NOT arg_HEADERS)
    set(arg_HEADERS lumen_test_headers)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${arg_HEADERS})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${LUMEN_UNITY} UNITY_BUILD_BATCH_SIZE ${LUMEN_UNITY_TESTS})
  target_compile_definitions(${name} PRIVATE LUMEN_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             LUMEN_BINARY_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  string(REGEX REPLACE "^lumen_(.*)_test$" "\\1" prefix ${name})
  string(REPLACE ";" "," long "${arg_LONG};${arg_SWEEPS}")
  set(left_out "")
  if(LUMEN_SANITIZE)
    set(left_out ${arg_SWEEPS})
  endif()
  if(LUMEN_SANITIZE MATCHES thread)
    list(APPEND left_out ${arg_ONE_THREAD})
  endif()
  string(REPLACE ";" "," left_out "${left_out}")
  add_custom_command(TARGET ${name} POST_BUILD BYPRODUCTS ${list} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> -DPREFIX=${prefix} -DLONG=${long} -DLEFT_OUT=${left_out}
            -DTOGETHER=${LUMEN_TEST_TOGETHER} -DTIMEOUT=${LUMEN_TEST_TIMEOUT} -DOUTPUT=${list} -P ${CMAKE_SOURCE_DIR}/cmake/DiscoverSuites.cmake)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake
       "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelse()\n  add_test(${name}_not_built ${name}_not_built)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake)
endfunction()

# lumen_module(NAME SOURCES … LINK …): a shared object that is loaded when first needed. It shows its entry and
# nothing else, so that neither its symbols nor anybody else's stand in for one another.
function(lumen_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} lumen_flags)
  target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/module.map)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/module.map)
endfunction()

# lumen_program(NAME SOURCES … LINK …)
function(lumen_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} lumen_flags)
endfunction()

# lumen_bench(NAME SOURCES … LINK …)
function(lumen_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  lumen_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} benchmark::benchmark)
endfunction()
