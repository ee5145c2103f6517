#include "lumen/apps/app.h"

int main(int argc, char** argv) { return lumen::RunApp(argc, argv); }
