// Writes a small finished run and its sequence (see small_run.h), for the tests of the page.
#include "tests/small_run.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  lumen::WriteSmallRun(argv[1], {.frames = argc > 2 ? std::atoi(argv[2]) : 48});
  return 0;
}
