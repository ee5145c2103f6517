# Run as a script while building: the files of a folder as one C++ source that holds their bytes, in plain
# arrays, so that no assembler, linker or compiler cache needs to know about them.
#   cmake -DROOT=folder -DFILES=a,b -DOUTPUT=page_files.cpp -P EmbedPage.cmake
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(table "")
set(number 0)
foreach(name ${FILES})
  file(READ ${ROOT}/${name} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {${bytes}0};\n")
  string(APPEND table "      {\"/${name}\", {reinterpret_cast<const char*>(kFile${number}), sizeof(kFile${number}) - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"lumen/viewer/page.h\"

namespace lumen {
namespace {
${arrays}}  // namespace
std::vector<PageFile> PageFiles() {
  return {
${table}  };
}
}  // namespace lumen
")
