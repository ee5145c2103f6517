# An installed tree offers find_package(Lumen) with one target per room (Lumen::geometry, …).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY LUMEN_ROOMS)
install(TARGETS ${rooms} EXPORT LumenTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY src/lumen DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*_test*" EXCLUDE)
install(EXPORT LumenTargets NAMESPACE Lumen:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lumen)
configure_package_config_file(cmake/LumenConfig.cmake.in ${CMAKE_BINARY_DIR}/LumenConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lumen)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/LumenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/LumenConfig.cmake ${CMAKE_BINARY_DIR}/LumenConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lumen)
if(TARGET lumen)
  install(TARGETS lumen RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET lumen_opencv)
  install(TARGETS lumen_opencv LIBRARY DESTINATION lib/lumen)
endif()
if(TARGET lumen_torch)
  install(TARGETS lumen_torch LIBRARY DESTINATION lib/lumen)
endif()
