// Stands in for Pangolin's header: ORB-SLAM3's headers name two of its types, and nothing here draws.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

using GLubyte = unsigned char;

namespace pangolin {
struct OpenGlMatrix;
}
