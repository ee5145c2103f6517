// The archive's page: tiles, the videos as a table, those that failed in a list of their own.
#include <algorithm>
#include <cstdio>

#include "lumen/apps/archive_index.h"
#include "lumen/base/progress.h"
#include "lumen/base/text.h"
#include "lumen/base/version.h"
#include "lumen/eval/statistics.h"
#include "lumen/eval/svg.h"

namespace lumen {

namespace {

// Colours of the view (web/src/style.css). On narrow screens a row becomes a card, on paper the tools go.
constexpr const char* kPageStyle = R"css(
:root{--ink:#16202b;--faint:#5d6975;--line:#dde2e8;--accent:#1176d0}
*{box-sizing:border-box}
body{font:15px/1.4 Helvetica,Arial,sans-serif;color:var(--ink);max-width:1280px;margin:1.6em auto;padding:0 1em}
h1{font-size:1.5em;margin:0 0 .6em}h2{font-size:1.15em;margin:1.8em 0 .6em}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px;margin:0 0 1.2em}
.tiles div{border:1px solid var(--line);border-radius:8px;padding:.6em .9em}
.tiles b{display:block;font-size:1.5em;font-weight:600}.tiles small{color:var(--faint)}
.tools{display:flex;gap:12px;align-items:center;margin:0 0 .6em;color:var(--faint)}.tools[hidden]{display:none}
.tools input{font:inherit;padding:.4em .7em;border:1px solid #b6c0ca;border-radius:6px;flex:0 1 26em;min-width:0}
.tools select{display:none;font:inherit;padding:.35em}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.4em .6em;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th{position:sticky;top:0;background:#fff;border-bottom:2px solid var(--ink);vertical-align:bottom;font-size:.88em}
th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid var(--accent)}
th[aria-sort=ascending] button::before{content:"▲ ";color:var(--accent)}
th[aria-sort=descending] button::before{content:"▼ ";color:var(--accent)}
th.text,td.text{text-align:left}td.name{max-width:26em;overflow-wrap:anywhere;white-space:normal}
td small{display:block;color:var(--faint);font-size:.82em}
td.picture{width:96px;padding:.25em .4em .25em 0}
td.picture img,td.picture i{display:block;width:84px;height:68px;object-fit:cover;border-radius:4px;background:#e8ecf0}
.bar{display:block;height:4px;width:64px;margin:.2em 0 0 auto;border-radius:2px;
background:linear-gradient(90deg,var(--accent) var(--part),#e3e8ee var(--part))}
.chip{display:inline-block;padding:1px 10px;border-radius:10px;background:#6b7682;color:#fff;font-weight:600;
font-size:.85em;white-space:nowrap}
.good{background:#178a58}.care{background:#a86c00}.bad{background:#cf3434}
tr.waiting td{color:var(--faint)}
#failures li{margin:0 0 .6em;overflow-wrap:anywhere}#failures li::marker{color:#cf3434}
#failures small{color:var(--faint);display:block}
footer{margin:2em 0 1em;color:var(--faint);font-size:.88em}
@media(max-width:820px){
.tools{flex-wrap:wrap}.tools input{flex:1 1 100%}.tools select{display:block}
thead{display:none}table,tbody{display:block}
tr{display:grid;grid-template-columns:96px repeat(2,1fr);gap:.15em .8em;padding:.7em 0;border-bottom:1px solid var(--line)}
tr[hidden]{display:none}
td{border:0;padding:0;text-align:left}td.picture{grid-row:1/span 5}td.name{grid-column:2/4;max-width:none;font-weight:600}
td.name small{font-weight:400}td:empty{display:none}
td[data-label]::before{content:attr(data-label) " ";color:var(--faint);font-size:.85em}.bar{display:none}}
@page{margin:12mm}
@media print{body{max-width:none;margin:0;font-size:9.5pt}.tools{display:none}th{position:static}
tr,li{break-inside:avoid}.chip,.bar,.tiles div{-webkit-print-color-adjust:exact;print-color-adjust:exact}
td.picture img,td.picture i{width:56px;height:45px}}
)css";

// Sorting and searching. Numbers lie in data-v, so that what is shown can be words; what has none goes last.
constexpr const char* kPageScript = R"js(
(() => {
  const body = document.querySelector('#videos tbody'), heads = [...document.querySelectorAll('#videos th')];
  const rows = body ? [...body.rows] : [], items = [...document.querySelectorAll('#failures li')];
  const words = new Map([...rows, ...items].map(each => [each, each.textContent.toLowerCase()]));
  const order = new Intl.Collator(undefined, {numeric: true, sensitivity: 'base'});
  const choice = document.getElementById('order'), find = document.getElementById('find');
  const shown = document.getElementById('shown');
  const key = (row, column) => row.cells[column].dataset.v;
  const sort = (column, down) => {
    const text = heads[column].classList.contains('text');
    const keyed = rows.map(row => [row, key(row, column)]);
    keyed.sort(([, a], [, b]) => {
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
      return (text ? order.compare(a, b) : a - b) * (down ? -1 : 1);
    });
    body.append(...keyed.map(([row]) => row));
    heads.forEach(head => head.removeAttribute('aria-sort'));
    heads[column].setAttribute('aria-sort', down ? 'descending' : 'ascending');
    choice.value = column;
  };
  const click = column => {
    const now = heads[column].getAttribute('aria-sort');
    sort(column, now ? now === 'ascending' : !heads[column].classList.contains('text'));
  };
  const search = () => {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [each, text] of words) {
      each.hidden = !wanted.every(word => text.includes(word));
      count += each.hidden ? 0 : 1;
    }
    shown.textContent = wanted.length ? `${count} of ${words.size}` : '';
  };
  heads.forEach((head, column) => {
    const button = head.querySelector('button');
    if (!button) return;
    button.onclick = () => click(column);
    choice.add(new Option('by ' + button.textContent, column));
  });
  choice.onchange = () => click(Number(choice.value));
  find.oninput = search;
  document.querySelector('.tools').hidden = false;
  if (rows.length) sort(1, false);  // as people count: part 2 before part 10
  search();
})();
)js";

std::string RoundedTo(double value, int decimals) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

// "12.3 s", "4:05", "1:02:03"
std::string DurationInWords(double seconds) {
  constexpr double kMinute = 60;
  return seconds < kMinute ? RoundedTo(seconds, 1) + " s" : FormatDuration(seconds);
}

// What people read; names of files may hold anything.
std::string ShownText(const std::string& text) { return EscapeXml(Printable(text)); }

std::string StateChip(const char* kind, const std::string& text, const std::string& more) {
  return StrCat("<span class=\"chip ", kind, "\" title=\"", ShownText(more), "\">", ShownText(text),
                "</span>");
}

std::string VideoCell(const char* label, const std::string& key, const std::string& html, bool text = false) {
  return StrCat("<td", text ? " class=\"text\"" : "", " data-label=\"", label, "\"",
                key.empty() ? "" : StrCat(" data-v=\"", EscapeXml(key), "\""), ">", html, "</td>");
}

std::string EmptyCells(int count) {
  std::string html;
  for (int i = 0; i < count; ++i) html += "<td></td>";
  return html;
}

std::string ShareCell(const char* label, double share, const std::string& text) {
  return VideoCell(
      label, FormatDouble(share),
      StrCat(text, "<span class=\"bar\" style=\"--part:", RoundedTo(100 * share, 1), "%\"></span>"));
}

std::string PercentInWords(double share) {
  // A frame in a thousand that is missing is not all of them.
  const double percent = 100 * share;
  return RoundedTo(percent < 100 && percent >= 99.5 ? 99.9 : percent,
                   percent < 100 && percent >= 99.5 ? 1 : 0) +
         " %";
}

double PlacedShare(const VideoEntry& entry) {
  return entry.frames > 0 ? static_cast<double>(entry.placed) / static_cast<double>(entry.frames) : 0;
}

std::string VerdictCell(const VideoEntry& entry) {
  switch (entry.ct) {
    case CtVerdict::kNone:
      return "<td></td>";
    case CtVerdict::kNotFound:
      return VideoCell("CT", "0", StateChip("bad", "not found", entry.ct_words));
    case CtVerdict::kDoubtful:
      return VideoCell("CT", "1", StateChip("care", "doubtful", entry.ct_words));
    case CtVerdict::kRegistered:
      return VideoCell("CT", "2", StateChip("good", "registered", entry.ct_words));
  }
  return "";
}

std::string PictureCell(const VideoEntry& entry) {
  if (entry.state != VideoState::kDone) return "<td class=\"picture\"></td>";
  if (entry.thumbnail.empty()) return "<td class=\"picture\"><i></i></td>";
  return StrCat("<td class=\"picture\"><img loading=\"lazy\" alt=\"\" src=\"videos/", EscapeXml(entry.folder),
                "/", EscapeXml(entry.thumbnail), "\"></td>");
}

std::string NameCell(const VideoEntry& entry) {
  const std::string name = ShownText(entry.name);
  const bool done = entry.state == VideoState::kDone;
  return StrCat(
      "<td class=\"text name\" data-v=\"", name, "\">",
      done ? StrCat("<a href=\"videos/", EscapeXml(entry.folder), "/report.html\">", name, "</a>") : name,
      "<small>", ShownText(entry.input), "</small></td>");
}

std::string VideoRow(const VideoEntry& entry) {
  if (entry.state != VideoState::kDone)
    return StrCat("<tr class=\"waiting\">", PictureCell(entry), NameCell(entry), EmptyCells(7),
                  VideoCell("", "waiting", StateChip("", "waiting", "not run yet"), true), "</tr>\n");
  std::string html = StrCat("<tr>", PictureCell(entry), NameCell(entry),
                            VideoCell("length", FormatDouble(entry.length), DurationInWords(entry.length)),
                            VideoCell("frames", StrCat(entry.frames), StrCat(entry.frames)),
                            ShareCell("placed", PlacedShare(entry), PercentInWords(PlacedShare(entry))),
                            VideoCell("lost spans", StrCat(entry.lost_spans), StrCat(entry.lost_spans)));
  html += entry.coverage ? ShareCell("seen", *entry.coverage,
                                     StrCat(RoundedTo(100 * *entry.coverage, 0), " ± ",
                                            RoundedTo(100 * entry.coverage_sigma.value_or(0), 0), " %"))
                         : "<td></td>";
  return StrCat(html, VerdictCell(entry),
                VideoCell("took", FormatDouble(entry.seconds), DurationInWords(entry.seconds)),
                VideoCell("", entry.reliable ? "good" : "take care",
                          entry.reliable ? StateChip("good", "good", entry.words)
                                         : StateChip("care", "take care", entry.words),
                          true),
                "</tr>\n");
}

std::string HeadCell(const char* name, bool text = false) {
  return StrCat("<th", text ? " class=\"text\"" : "", "><button>", name, "</button></th>");
}

std::string VideoTable(const std::vector<VideoEntry>& entries) {
  std::string rows;
  for (const VideoEntry& entry : entries)
    if (entry.state != VideoState::kFailed) rows += VideoRow(entry);
  if (rows.empty()) return "";
  return StrCat("<table id=\"videos\"><thead><tr><th></th>", HeadCell("video", true), HeadCell("length"),
                HeadCell("frames"), HeadCell("frames placed"), HeadCell("lost spans"), HeadCell("wall seen"),
                HeadCell("CT"), HeadCell("took"), HeadCell("state", true), "</tr></thead>\n<tbody>\n", rows,
                "</tbody></table>\n");
}

std::string FailureList(const std::vector<VideoEntry>& entries) {
  std::string items;
  for (const VideoEntry& entry : entries)
    if (entry.state == VideoState::kFailed)
      items += StrCat("<li><b>", ShownText(entry.name), "</b>: ", ShownText(entry.reason), "<small>",
                      ShownText(entry.input), " · after ", DurationInWords(entry.seconds),
                      entry.node.empty() ? "" : StrCat(" on ", ShownText(entry.node)), " · <a href=\"work/",
                      EscapeXml(entry.folder), "/log.txt\">log</a></small></li>\n");
  if (items.empty()) return "";
  return StrCat("<h2 id=\"failed\">Failed</h2>\n<ul id=\"failures\">\n", items,
                "</ul>\n<p>The same command tries them again.</p>\n");
}

std::string ArchiveTile(const char* question, const std::string& answer, const std::string& more) {
  return StrCat("<div><small>", question, "</small><b>", answer, "</b><small>", more, "</small></div>");
}

std::string Thousands(int64_t number) {
  std::string text = StrCat(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), "\u202F");
  return text;
}

// What the whole archive amounts to.
std::string ArchiveTiles(const std::vector<VideoEntry>& entries) {
  const ArchiveCounts counts = CountVideos(entries);
  double length = 0, took = 0;
  int64_t frames = 0, placed = 0, reliable = 0, with_ct = 0, registered = 0;
  std::vector<double> coverage;
  for (const VideoEntry& entry : entries) {
    if (entry.state != VideoState::kDone) continue;
    length += entry.length;
    took += entry.seconds;
    frames += entry.frames;
    placed += entry.placed;
    reliable += entry.reliable ? 1 : 0;
    with_ct += entry.ct != CtVerdict::kNone ? 1 : 0;
    registered += entry.ct == CtVerdict::kRegistered ? 1 : 0;
    if (entry.coverage) coverage.push_back(*entry.coverage);
  }
  const std::string failed =
      counts.failed > 0 ? StrCat(", <a href=\"#failed\">", counts.failed, " failed</a>") : std::string();
  const std::string waiting = counts.waiting > 0 ? StrCat(", ", counts.waiting, " waiting") : std::string();
  std::string html = ArchiveTile("Videos", Thousands(static_cast<int64_t>(entries.size())),
                                 StrCat(counts.done, " done", failed, waiting));
  if (counts.done == 0) return StrCat("<div class=\"tiles\">", html, "</div>\n");
  html += ArchiveTile("Length", DurationInWords(length),
                      StrCat("of video, in ", DurationInWords(took), " of running"));
  html += ArchiveTile(
      "Frames placed",
      frames > 0 ? PercentInWords(static_cast<double>(placed) / static_cast<double>(frames)) : "–",
      StrCat("of ", Thousands(frames)));
  html += ArchiveTile("To be relied on", StrCat(reliable, " of ", counts.done), "by their own account");
  if (!coverage.empty())
    html += ArchiveTile("Wall seen", StrCat(RoundedTo(100 * Quantile(coverage, 0.5), 0), " %"),
                        coverage.size() == 1 ? std::string("of the one that can tell")
                                             : StrCat("median of the ", coverage.size(), " that can tell"));
  if (with_ct > 0)
    html += ArchiveTile("Found in the CT", StrCat(registered, " of ", with_ct), "without doubts");
  return StrCat("<div class=\"tiles\">", html, "</div>\n");
}

}  // namespace

std::string FormatIndexPage(const std::vector<VideoEntry>& entries, const std::string& title) {
  const size_t waiting = CountVideos(entries).waiting;
  const std::string unfinished =
      waiting > 0 ? StrCat("<p>", waiting,
                           " videos are still to come; this page is written anew as each ends."
                           "</p>\n")
                  : std::string();
  return StrCat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>Lumen: ",
      ShownText(title), "</title><style>", kPageStyle, "</style></head>\n<body>\n<h1>", ShownText(title),
      "</h1>\n", ArchiveTiles(entries), unfinished,
      "<div class=\"tools\" hidden><input id=\"find\" type=\"search\" placeholder=\"search: names, states, "
      "reasons\" aria-label=\"search\"><select id=\"order\" aria-label=\"order\"></select>"
      "<span id=\"shown\"></span></div>\n",
      VideoTable(entries), FailureList(entries), "<footer>Made by Lumen ", ShownText(Version()), " (",
      ShownText(Commit()), "). A name leads to its video's report. Not a medical device.</footer>\n<script>",
      kPageScript, "</script>\n</body></html>\n");
}

}  // namespace lumen
