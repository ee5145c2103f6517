// The only file that includes OpenIGTLink. It packs; the bytes travel through sockets of our own.
#include "lumen/igtl/messages.h"

#include <igtlImageMessage.h>
#include <igtlPolyDataMessage.h>
#include <igtlStatusMessage.h>
#include <igtlStringMessage.h>
#include <igtlTrackingDataMessage.h>
#include <igtlTransformMessage.h>
#include <igtl_header.h>
#include <igtl_util.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr igtlUint16 kUtf8 = 106;  // IANA's number
constexpr igtlUint16 kHeaderVersion = 1;
static_assert(sizeof(igtl_header) == IGTL_HEADER_SIZE);
constexpr double kFractions = 4294967296.0;  // of a second

uint64_t Fractions(double time) {
  const double seconds = std::floor(time);
  return (static_cast<uint64_t>(seconds) << 32) | static_cast<uint32_t>((time - seconds) * kFractions);
}

template <size_t kBytes>
void CopyText(const std::string& text, char (&field)[kBytes]) {
  std::memcpy(field, text.data(), std::min(text.size(), kBytes));
}

void SetMessageTime(igtl::MessageBase& message, double time) {
  const uint64_t fractions = Fractions(time);
  message.SetTimeStamp(static_cast<unsigned>(fractions >> 32), static_cast<unsigned>(fractions));
}

std::string FinishMessage(igtl::MessageBase& message, const std::string& device, double time) {
  message.SetDeviceName(device.substr(0, kMostNameBytes).c_str());
  SetMessageTime(message, time);
  message.Pack();
  return {static_cast<const char*>(message.GetPackPointer()), static_cast<size_t>(message.GetPackSize())};
}

void FillMatrix(const Rigid3& pose, igtl::Matrix4x4& matrix) {
  const Eigen::Matrix4d from = pose.Matrix();
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 4; ++column) matrix[row][column] = static_cast<float>(from(row, column));
}

void AddTriangles(const TriangleMesh& mesh, igtl::PolyDataMessage& message) {
  const auto points = igtl::PolyDataPointArray::New();
  points->SetNumberOfPoints(static_cast<int>(mesh.vertices.size()));
  for (unsigned i = 0; i < mesh.vertices.size(); ++i)
    points->SetPoint(i, mesh.vertices[i].x(), mesh.vertices[i].y(), mesh.vertices[i].z());
  const auto cells = igtl::PolyDataCellArray::New();
  for (const auto& triangle : mesh.triangles) {
    igtlUint32 corners[3];
    for (size_t k = 0; k < 3; ++k) corners[k] = static_cast<igtlUint32>(triangle[k]);
    cells->AddCell(3, corners);
  }
  message.SetPoints(points);
  message.SetPolygons(cells);
}

}  // namespace

std::string PackTransform(const std::string& device, const Rigid3& pose, double time) {
  const auto message = igtl::TransformMessage::New();
  igtl::Matrix4x4 matrix;
  FillMatrix(pose, matrix);
  message->SetMatrix(matrix);
  return FinishMessage(*message, device, time);
}

std::string PackTracking(const std::string& device, const Rigid3& pose, double time) {
  const auto message = igtl::TrackingDataMessage::New();
  auto element = igtl::TrackingDataElement::New();
  element->SetName(device.substr(0, kMostNameBytes).c_str());
  element->SetType(igtl::TrackingDataElement::TYPE_6D);
  igtl::Matrix4x4 matrix;
  FillMatrix(pose, matrix);
  element->SetMatrix(matrix);
  message->AddTrackingDataElement(element);
  return FinishMessage(*message, device, time);
}

std::string PackTrackingAnswer(const std::string& device, double time) {
  const auto message = igtl::RTSTrackingDataMessage::New();
  message->SetStatus(igtl::RTSTrackingDataMessage::STATUS_SUCCESS);
  return FinishMessage(*message, device, time);
}

std::string PackStatus(const std::string& device, const LinkState& state, double time) {
  const auto message = igtl::StatusMessage::New();
  message->SetCode(state.good ? igtl::StatusMessage::STATUS_OK : igtl::StatusMessage::STATUS_NOT_READY);
  message->SetSubCode(0);
  message->SetErrorName(state.name.substr(0, kMostNameBytes - 1).c_str());
  message->SetStatusString(state.words.c_str());
  return FinishMessage(*message, device, time);
}

std::string PackText(const std::string& device, const std::string& text, double time) {
  const auto message = igtl::StringMessage::New();
  message->SetEncoding(kUtf8);
  constexpr size_t most = 65535;  // its length is told in two bytes
  message->SetString(text.substr(0, most).c_str());
  return FinishMessage(*message, device, time);
}

std::string PackPicture(const std::string& device, const RgbImage& picture, double time) {
  LUMEN_CHECK(picture.Channels() == 3 && !picture.Empty());
  const auto message = igtl::ImageMessage::New();
  message->SetDimensions(picture.Width(), picture.Height(), 1);
  message->SetSubVolume(picture.Width(), picture.Height(), 1, 0, 0, 0);
  message->SetSpacing(1, 1, 1);
  message->SetNumComponents(3);
  message->SetScalarTypeToUint8();
  message->AllocateScalars();
  std::memcpy(message->GetScalarPointer(), picture.Data(), picture.Size());
  igtl::Matrix4x4 matrix;
  FillMatrix(Rigid3(), matrix);
  message->SetMatrix(matrix);
  return FinishMessage(*message, device, time);
}

std::string PackSurface(const std::string& device, const TriangleMesh& mesh, double time) {
  LUMEN_CHECK(!mesh.vertices.empty());  // of none the library would send whatever lies in its memory
  const auto message = igtl::PolyDataMessage::New();
  AddTriangles(mesh, *message);
  std::vector<igtl::PolyDataAttribute::Pointer> kept;  // the message may hold bare pointers
  for (const VertexAttribute& attribute : mesh.attributes) {
    LUMEN_CHECK(attribute.values.size() == mesh.vertices.size(), attribute.name);
    kept.push_back(igtl::PolyDataAttribute::New());
    kept.back()->SetType(igtl::PolyDataAttribute::POINT_SCALAR);
    kept.back()->SetName(attribute.name.c_str());
    kept.back()->SetSize(static_cast<igtlUint32>(attribute.values.size()));
    std::vector<float> values = attribute.values;  // it takes no const
    kept.back()->SetData(values.data());
    message->AddAttribute(kept.back());
  }
  return FinishMessage(*message, device, time);
}

// By hand: the library's own message of this kind loses memory each time it is packed, and how often is up to
// whoever asks.
std::string PackCapability(const std::string& device, const std::vector<std::string>& types, double time) {
  std::string body;
  for (std::string type : types) {
    type.resize(IGTL_HEADER_TYPE_SIZE);  // cut, or filled up with zeros
    body += type;
  }
  igtl_header header{kHeaderVersion, {}, {}, Fractions(time), body.size(), MessageCrc(body)};
  CopyText("CAPABILITY", header.name);
  CopyText(device, header.device_name);
  igtl_header_convert_byte_order(&header);
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + body;
}

uint64_t MessageCrc(std::string_view body) {
  // It only reads, whatever it declares.
  return crc64(reinterpret_cast<unsigned char*>(const_cast<char*>(body.data())), body.size(), 0);
}

}  // namespace lumen
