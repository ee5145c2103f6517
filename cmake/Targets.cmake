# One helper per kind of target: a room (library + its tests), a program, a benchmark.

add_library(lumen_flags INTERFACE)
add_library(Lumen::flags ALIAS lumen_flags)
target_compile_options(lumen_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                       -fno-math-errno -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC sees ghosts in std::string's operator+ and in what it inlines of std::optional and std::variant.
  target_compile_options(lumen_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(LUMEN_WERROR)
  target_compile_options(lumen_flags INTERFACE -Werror)
endif()
if(LUMEN_SANITIZE)
  target_compile_options(lumen_flags INTERFACE -fsanitize=${LUMEN_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(lumen_flags INTERFACE -fsanitize=${LUMEN_SANITIZE})
endif()

# lumen_room(NAME SOURCES … [TESTS …] [ROOMS …] [LINK …] [LINK_PRIVATE …] [TEST_ROOMS …] [TEST_LINK …])
# ROOMS are the rooms this one may enter: the link list is the layer table.
function(lumen_room name)
  cmake_parse_arguments(arg "" "" "SOURCES;TESTS;ROOMS;LINK;LINK_PRIVATE;TEST_ROOMS;TEST_LINK" ${ARGN})
  add_library(lumen_${name} STATIC ${arg_SOURCES})
  add_library(Lumen::${name} ALIAS lumen_${name})
  set_target_properties(lumen_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(lumen_${name} PUBLIC cxx_std_20)
  target_include_directories(lumen_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
  list(TRANSFORM arg_ROOMS PREPEND Lumen::)
  target_link_libraries(lumen_${name} PUBLIC ${arg_ROOMS} ${arg_LINK} PRIVATE $<BUILD_INTERFACE:lumen_flags> ${arg_LINK_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY LUMEN_ROOMS lumen_${name})
  if(LUMEN_BUILD_TESTS AND arg_TESTS)
    list(TRANSFORM arg_TEST_ROOMS PREPEND Lumen::)
    lumen_test(lumen_${name}_test SOURCES ${arg_TESTS} LINK Lumen::${name} ${arg_TEST_ROOMS} ${arg_TEST_LINK})
  endif()
endfunction()

# lumen_test(NAME SOURCES … LINK …): a test program whose cases ctest sees one by one.
function(lumen_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} lumen_flags GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE LUMEN_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             LUMEN_BINARY_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(LUMEN_SANITIZE)
    # A sanitized program takes seconds to start: one start per program instead of one per test.
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 1500)
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
  endif()
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
