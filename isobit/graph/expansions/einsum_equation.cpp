#include "isobit/graph/expansions/einsum_equation.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "isobit/base/text.h"

namespace isobit::graph::expansions {
namespace {

constexpr EinsumLabel kLastOfEllipsis = 256;  // above every letter

struct Term {
  std::string before, after;  // letters around "..."
  bool has_ellipsis = false;

  int letters() const { return static_cast<int>(before.size() + after.size()); }
  std::vector<EinsumLabel> labels(int axes_of_ellipsis) const {
    std::vector<EinsumLabel> labels(before.begin(), before.end());
    if (has_ellipsis) {
      for (int i = axes_of_ellipsis; i-- > 0;) labels.push_back(kLastOfEllipsis + i);
    }
    labels.insert(labels.end(), after.begin(), after.end());
    return labels;
  }
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Expected<Term> read_term(const std::string& text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      (term.has_ellipsis ? term.after : term.before).push_back(text[i]);
    } else if (text.compare(i, 3, "...") == 0 && !term.has_ellipsis) {
      term.has_ellipsis = true;
      i += 2;
    } else {
      return unreadable(text_of("the term '", text, "' of the equation has more than letters and one '...'"));
    }
  }
  return term;
}

Expected<std::vector<Term>> read_terms(const std::string& text) {
  std::vector<Term> terms;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    ISOBIT_TRY(Term term, read_term(text.substr(begin, end - begin)));
    terms.push_back(std::move(term));
    begin = end + 1;
  }
  return terms;
}

// The axes that "..." stands for in each term, at most.
Expected<int> axes_of_ellipsis(const std::vector<Term>& terms, const std::vector<int>& ranks) {
  if (terms.size() != ranks.size()) {
    return unreadable(text_of("the equation has ", terms.size(), " terms for ", ranks.size(), " operands"));
  }
  int most = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const int letters = terms[i].letters();
    if (letters > ranks[i] || (letters < ranks[i] && !terms[i].has_ellipsis)) {
      return unreadable(text_of("operand ", i, " has rank ", ranks[i], ", its term ", letters, " letters"));
    }
    most = std::max(most, ranks[i] - letters);
  }
  return most;
}

std::map<EinsumLabel, int> counts_of_letters(const std::vector<Term>& terms) {
  std::map<EinsumLabel, int> counts;
  for (const Term& term : terms) {
    for (char c : term.before + term.after) ++counts[c];
  }
  return counts;
}

Status check_output(const Term& output, const std::vector<Term>& terms, int axes) {
  if (axes > 0 && !output.has_ellipsis) return unreadable("the output has no '...', which stands for an axis");
  const auto counts = counts_of_letters(terms);
  const std::string letters = output.before + output.after;
  for (char c : letters) {
    if (!counts.contains(c)) return unreadable(text_of("the output has a letter '", c, "' that no operand has"));
    if (std::count(letters.begin(), letters.end(), c) > 1) {
      return unreadable(text_of("the output has the letter '", c, "' twice"));
    }
  }
  return {};
}

Term implicit_output(const std::vector<Term>& terms) {
  Term output;
  output.has_ellipsis = true;
  for (const auto& [letter, count] : counts_of_letters(terms)) {
    if (count == 1) output.after.push_back(static_cast<char>(letter));
  }
  return output;
}

}  // namespace

Expected<EinsumEquation> parse_einsum(const std::string& equation, const std::vector<int>& ranks) {
  std::string text;
  std::copy_if(equation.begin(), equation.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  const size_t arrow = text.find("->");
  ISOBIT_TRY(const std::vector<Term> terms, read_terms(text.substr(0, arrow)));
  ISOBIT_TRY(const int axes, axes_of_ellipsis(terms, ranks));
  Term output;
  if (arrow == std::string::npos) {
    output = implicit_output(terms);
  } else {
    ISOBIT_TRY(output, read_term(text.substr(arrow + 2)));
    ISOBIT_RETURN_IF_ERROR(check_output(output, terms, axes));
  }
  EinsumEquation read;
  for (size_t i = 0; i < terms.size(); ++i) read.operands.push_back(terms[i].labels(ranks[i] - terms[i].letters()));
  read.output = output.labels(axes);
  return read;
}

}  // namespace isobit::graph::expansions
