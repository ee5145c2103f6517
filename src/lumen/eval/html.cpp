#include "lumen/eval/html.h"

#include <cctype>

#include "lumen/base/text.h"
#include "lumen/eval/svg.h"

namespace lumen {

namespace {

constexpr const char* kStyle =
    "body{font-family:Helvetica,Arial,sans-serif;color:#111;max-width:1150px;margin:2em auto;padding:0 1em}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.84em;white-space:nowrap}"
    "th,td{padding:.3em .6em;text-align:right;border-bottom:1px solid #ddd}"
    "th{border-bottom:2px solid #111;vertical-align:bottom;white-space:normal}"
    "th:first-child,td:first-child,td.text{text-align:left}.wide{margin-bottom:1em}"
    "figure{margin:1.2em 0}figure svg{max-width:100%;height:auto}figcaption{font-size:.85em;color:#444}"
    "details{margin:1.2em 0;border-top:1px solid #ddd;padding-top:.6em}"
    "summary{font-size:1.15em;font-weight:bold;cursor:pointer}"
    "@page{margin:14mm}"
    "@media print{body{max-width:none;margin:0;font-size:10.5pt}figure,table{page-break-inside:avoid}"
    "h2,summary{page-break-after:avoid}}";

// Paper cannot be unfolded.
constexpr const char* kOpenOnPaper =
    "<script>addEventListener('beforeprint',()=>document.querySelectorAll('details').forEach("
    "fold=>{fold.open=true}))</script>\n";

std::string CellHtml(const std::string& cell) {
  if (cell.size() < 4 || !StartsWith(cell, "**")) return EscapeXml(cell);
  const size_t end = cell.find("**", 2);
  if (end == std::string::npos) return EscapeXml(cell);
  return StrCat("<b>", EscapeXml(cell.substr(2, end - 2)), "</b>", EscapeXml(cell.substr(end + 2)));
}

}  // namespace

HtmlPage::HtmlPage(const std::string& title) : title_(title) {
  body_ = StrCat("<h1>", EscapeXml(title), "</h1>\n");
}

void HtmlPage::Heading(const std::string& text) { body_ += StrCat("<h2>", EscapeXml(text), "</h2>\n"); }
void HtmlPage::Paragraph(const std::string& text) { body_ += StrCat("<p>", EscapeXml(text), "</p>\n"); }

void HtmlPage::List(const std::vector<std::string>& items) {
  body_ += "<ul>\n";
  for (const std::string& item : items) body_ += StrCat("<li>", EscapeXml(item), "</li>\n");
  body_ += "</ul>\n";
}

void HtmlPage::Table(const std::vector<std::vector<std::string>>& rows) {
  body_ += "<div class=\"wide\"><table>\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    body_ += "<tr>";
    for (const std::string& cell : rows[i]) {
      const bool words = !cell.empty() && std::isalpha(static_cast<unsigned char>(cell[0])) != 0;
      body_ += i == 0 ? StrCat("<th>", EscapeXml(cell), "</th>")
                      : StrCat(words ? "<td class=\"text\">" : "<td>", CellHtml(cell), "</td>");
    }
    body_ += "</tr>\n";
  }
  body_ += "</table></div>\n";
}

void HtmlPage::Figure(const std::string& svg, const std::string& caption) {
  body_ += StrCat("<figure>\n", svg, "<figcaption>", EscapeXml(caption), "</figcaption>\n</figure>\n");
}

void HtmlPage::BeginFold(const std::string& title) {
  body_ += StrCat("<details><summary>", EscapeXml(title), "</summary>\n");
  has_folds_ = true;
}
void HtmlPage::EndFold() { body_ += "</details>\n"; }

void HtmlPage::Html(const std::string& fragment) { body_ += fragment; }

std::string HtmlPage::Finish() const {
  return StrCat("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", EscapeXml(title_),
                "</title><style>", kStyle, "</style></head>\n<body>\n", body_, has_folds_ ? kOpenOnPaper : "",
                "</body></html>\n");
}

}  // namespace lumen
