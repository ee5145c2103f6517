// A self-contained page, piece by piece: headings, text, tables, figures inline.
#pragma once

#include <string>
#include <vector>

namespace lumen {

class HtmlPage {
 public:
  explicit HtmlPage(const std::string& title);
  void Heading(const std::string& text);
  void Paragraph(const std::string& text);
  void List(const std::vector<std::string>& items);
  // The first row is the head. A cell between double asterisks is bold, as in Markdown.
  void Table(const std::vector<std::vector<std::string>>& rows);
  void Figure(const std::string& svg, const std::string& caption);
  // What is folded away until it is asked for; on paper it is open.
  void BeginFold(const std::string& title);
  void EndFold();
  void Html(const std::string& fragment);  // as it is: escape what comes from outside
  std::string Finish() const;

 private:
  std::string title_, body_;
  bool has_folds_ = false;
};

}  // namespace lumen
