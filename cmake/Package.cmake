# `cpack` (in a build folder) makes lumen_VERSION_ARCH.deb and, where Torch was found, lumen-train_VERSION_ARCH.deb.
# What they need at run time is read off the programs by dpkg-shlibdeps. What a compiler needs to build on the
# headers is suggested only: most who install a program build nothing on it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lumen)
set(CPACK_PACKAGE_VENDOR "Lumen")
set(CPACK_PACKAGE_CONTACT "the authors of Lumen <lumen@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL lumen)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_LUMEN_PACKAGE_NAME lumen)
set(CPACK_COMPONENT_LUMEN_DESCRIPTION "dense monocular SLAM for endoscopy
 An endoscopic video in; the camera's path, dense depth, a fused surface
 and its registration to the CT out. Holds the program with its trained
 model, its manual, and headers, libraries and CMake files for programs
 that build on it.")
set(CPACK_DEBIAN_LUMEN_PACKAGE_SUGGESTS "lumen-train, libeigen3-dev, libpng-dev, zlib1g-dev, libspdlog-dev, libhdf5-dev, libopenigtlink-dev, python3-numpy")
if(TARGET lumen-train)
  list(APPEND CPACK_COMPONENTS_ALL lumen-train)
  set(CPACK_DEBIAN_LUMEN-TRAIN_PACKAGE_NAME lumen-train)
  set(CPACK_COMPONENT_LUMEN-TRAIN_DESCRIPTION "training of Lumen's networks, and Lumen on a GPU
 What of Lumen needs Torch: the program behind \"lumen train\", and the
 module that runs the networks on a GPU.")
  set(CPACK_DEBIAN_LUMEN-TRAIN_PACKAGE_DEPENDS "lumen (= ${PROJECT_VERSION})")
endif()
include(CPack)
