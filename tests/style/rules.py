"""The rules that look at one text file. Each takes (path, text) and yields (line number, complaint).

path is relative to the root of the tree and uses '/'. Words that a rule forbids are assembled here from pieces, so
that this file obeys the rules it states.
"""
import re

MAX_LINES = 450
CXX = (".h", ".cpp", ".inc")
TEXT = CXX + (".cmake", ".txt", ".py", ".md", ".toml", ".json", ".sh", ".yml")

_UNFINISHED = re.compile(r"\b(%s)\b" % "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK"]))
_MACHINE_PATH = re.compile(r"(?<![\w.$}])/(%s)/" % "|".join(["wo" + "rk", "ho" + "me", "ro" + "ot", "mn" + "t"]) + r"\w"
                           r"|/tm" + r"p/buil" + r"d")
_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
_OWN_FOLDERS = ("isobit/", "tests/", "bench/", "fuzz/", "examples/")

# Functions whose bits the C library chooses. sqrt, fma, floor, ldexp and the like are exact or correctly rounded.
_TRANSCENDENTAL = "exp|exp2|expm1|log|log2|log10|log1p|tanh|sinh|cosh|erf|erfc|sin|cos|tan|sincos|" \
    "asin|acos|atan|atan2|asinh|acosh|atanh|pow|cbrt|hypot|tgamma|lgamma"
_LIBM = re.compile(r"(?<!\w)(?P<source>std\s*::\s*|__builtin_)?(?P<name>(?:%s)[fl]?)\s*\(\s*(?P<first>\w*)"
                   % _TRANSCENDENTAL)
_UNORDERED = re.compile(r"std\s*::\s*(?:transform_)?reduce\b|std\s*::\s*execution\b|#\s*pragma\s+omp\b|"
                        r"\batomic\s*<\s*(?:float|double)\s*>|-ffast-math|-Ofast")
_LONG_DOUBLE = re.compile(r"\blong\s+double\b")
_TEST_ONLY = re.compile(r"(_test|_oracle|_bench|_fuzz)\.\w+$|(^|/)(testing|oracles?)[./]|^(tests|bench|fuzz)/")


def is_test_only(path):
    return bool(_TEST_ONLY.search(path))


def _at(text, position):
    return text.count("\n", 0, position) + 1


def without_comments(text):
    """C++ text with comments and literals blanked; line numbers are kept. Include lines keep their names."""
    def blank(match):
        token = match.group(0)
        if token.startswith("#"):
            return token
        return re.sub(r"[^\n]", " ", token) if token.startswith("/") else token[0] + " " * (len(token) - 2) + token[-1]
    return re.sub(r'#[ \t]*include[^\n]*|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'',
                  blank, text, flags=re.S)


def length(path, text):
    lines = text.count("\n") + (not text.endswith("\n"))
    if path.endswith(CXX + (".cmake", ".py")) and lines > MAX_LINES:
        yield 1, f"{lines} lines; at most {MAX_LINES}: split it"


def finished(path, text):
    for m in _UNFINISHED.finditer(text):
        yield _at(text, m.start()), f"'{m.group(0)}': finish it or leave it out"


def no_machine_paths(path, text):
    for m in _MACHINE_PATH.finditer(text):
        yield _at(text, m.start()), f"'{m.group(0)}...' is a path of one machine"


def tidy_text(path, text):
    if text and not text.endswith("\n"):
        yield _at(text, len(text)), "no newline at the end of the file"
    for m in re.finditer(r"[ \t]+$|\r", text, re.M):
        if not path.endswith(".md"):
            yield _at(text, m.start()), "white space at the end of the line"


def full_include_paths(path, text):
    if not path.endswith(CXX):
        return
    for m in _INCLUDE.finditer(text):
        bracket, name = m.groups()
        if bracket == '"' and not name.startswith(_OWN_FOLDERS):
            yield _at(text, m.start()), f'"{name}": write the path from the root of the tree, or <{name}>'
        if bracket == "<" and name.startswith("isobit/"):
            yield _at(text, m.start()), f"<{name}>: our own headers are included with quotes"


def header_form(path, text):
    if not path.endswith(".h"):
        return
    if not text.startswith("//"):
        yield 1, "a header starts with a comment that says what it is"
    head = [line for line in text.splitlines() if line.strip() and not line.startswith("//")]
    if not head or head[0] != "#pragma once":
        yield 1, "#pragma once follows the opening comment"
    for m in re.finditer(r"^\s*using namespace\b", text, re.M):
        yield _at(text, m.start()), "using namespace in a header"


def no_libm(path, text):
    """In kernels/ and numerics/ (tests aside) elementary functions are ours: libm's bits differ between machines."""
    if not re.match(r"isobit/(kernels|numerics)/", path) or not path.endswith(CXX) or is_test_only(path):
        return
    code = without_comments(text)
    for m in _LIBM.finditer(code):
        if not m.group("source") and not _bare_call(code[:m.start("name")].rstrip(), m.group("first")):
            continue
        yield _at(code, m.start("name")), (
            f"{m.group('name')}(): the C library's bits differ between machines; use isobit/numerics")


def _bare_call(before, first_argument):
    """Whether a name is called as the C library's: unqualified or as ::name, not declared, not ours."""
    if before.endswith("::"):
        before = before[:-2].rstrip()
        return not re.search(r"[\w>]$", before) or bool(re.search(r"\b(return|else|case)$", before))
    word = re.search(r"(\w+)$", before)
    if word:
        return word.group(1) in ("return", "else", "case")  # any other word is the type of a declaration
    # A member, a declaration ("T* log(" against "x * log("), or ours, whose first argument is the context.
    return not re.search(r"\.$|->$|\w[*&>]+$", before) and first_argument != "ctx"


def ordered_only(path, text):
    """No unordered reductions and no long double in code that makes results."""
    if not path.startswith("isobit/") or not path.endswith(CXX) or is_test_only(path):
        return
    code = without_comments(text)
    for m in _UNORDERED.finditer(code):
        yield _at(code, m.start()), f"'{m.group(0)}' has no fixed order"
    for m in _LONG_DOUBLE.finditer(code):
        yield _at(code, m.start()), "long double differs between machines"


def room_order(path, text, rooms):
    """A file of isobit/X includes only headers of X and of the rooms above X."""
    parts = path.split("/")
    if parts[0] != "isobit" or len(parts) < 3 or not path.endswith(CXX):
        return
    if parts[1] not in rooms:
        yield 1, f"isobit/{parts[1]} is not in the list of rooms of isobit/CMakeLists.txt"
        return
    for m in _INCLUDE.finditer(text):
        included = m.group(2).split("/")
        if included[0] != "isobit" or len(included) < 3:
            continue
        if included[1] not in rooms:
            yield _at(text, m.start()), f"isobit/{included[1]} is not a room"
        elif rooms.index(included[1]) > rooms.index(parts[1]):
            yield _at(text, m.start()), f"{parts[1]} includes {m.group(2)} of the lower room {included[1]}"


# Folders that define operators, say which kernel each has, or which of them another format means.
_KNOW_OPERATORS = ("isobit/graph/", "isobit/kernels/", "isobit/runtime/kernels/", "isobit/onnx/")
# Those that build graphs name the operators of the nodes that they add, and nothing else.
_BUILD_GRAPHS = ("isobit/models/", "isobit/train/step_graph")
_STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_ADDS_A_NODE = re.compile(r"\b(?:emit|emit_all|add_node|add)\s*\(\s*$")
_COMPARES_OPERATORS = re.compile(r"(?:\.|->)op\s*[!=]=|[!=]=\s*[\w.>()\[\]-]*(?:\.|->)op\b(?!\s*\()")
_COMPARED_BEFORE = re.compile(r"[!=]=\s*$")
_COMPARED_AFTER = re.compile(r"\s*[!=]=")
_COMPARES_ARITHMETICS = re.compile(r"\barithmetic_?\s*[!=]=(?!\s*nullptr)|"
                                   r"(?<!nullptr )[!=]=\s*[\w.>()-]*\barithmetic_?\b(?!\s*[.(]|->)")


def without_line_comments(text):
    """Comments blanked, literals kept."""
    return re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/',
                  lambda m: m.group(1) or re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)


def operator_names(text):
    """The operators that a file of isobit/graph/ops defines."""
    lists = re.findall(r"for \(const char\* op : \{([^}]*)\}", text)
    return set(re.findall(r'\.name = "([^"]+)"', text)) | {n for part in lists for n in re.findall(r'"([^"]+)"', part)}


def no_operator_lists(path, text, operators):
    """What an operator is stands in its definition (isobit/graph/ops): nobody compares or lists names of operators."""
    if not path.endswith(CXX) or path.startswith(_KNOW_OPERATORS) or not path.startswith(("isobit/", "bench/", "fuzz/")):
        return
    if re.search(r"(_test|_oracle)\.\w+$", path):
        return
    short = {n.removeprefix("isobit.") for n in operators}
    code = without_line_comments(text)
    for m in _STRING.finditer(code):
        if m.group(1) not in operators and m.group(1) not in short:
            continue
        if (path.startswith(_BUILD_GRAPHS) or is_test_only(path)) and _ADDS_A_NODE.search(code[:m.start()]):
            continue
        yield _at(code, m.start()), f"operator {m.group(0)} named here: ask graph::op_of(node) for a trait"
    for m in _COMPARES_OPERATORS.finditer(without_comments(text)):
        yield _at(text, m.start()), "operators compared by name: ask graph::op_of(node) for a trait"


def arithmetic_names(text):
    """The arithmetics that isobit/platform/arithmetic.cpp defines."""
    return set(re.findall(r'\.name = "([^"]+)"', text))


def no_arithmetic_strings(path, text, arithmetics):
    """An arithmetic is what platform::Arithmetic says of it: nobody compares its name."""
    if not path.endswith(CXX) or not path.startswith("isobit/") or is_test_only(path):
        return
    code = without_line_comments(text)
    for m in _STRING.finditer(code):
        compared = _COMPARED_BEFORE.search(code[:m.start()]) or _COMPARED_AFTER.match(code, m.end())
        if compared and m.group(1) in arithmetics:
            yield _at(code, m.start()), f"{m.group(0)} compared: ask platform::Arithmetic for what is meant"
    bare = without_comments(text)
    for m in _COMPARES_ARITHMETICS.finditer(bare):
        yield _at(bare, m.start()), "arithmetics compared by name: ask platform::Arithmetic for what is meant"


def rooms_of_page(text):
    """The rooms in the order of the table in docs/architecture.md."""
    return re.findall(r"^\| `(\w+)/` \|", text, re.M)


def dependencies_of(text):
    """room -> the targets that a CMakeLists.txt declares: by isobit_room(), or for a target isobit_<room> or isobit."""
    found = {}
    text = re.sub(r"#[^\n]*", "", text)
    for m in re.finditer(r"\bisobit_room\((\w+)([^)]*)\)", text):
        deps = m.group(2).partition("DEPS")[2]
        found.setdefault(m.group(1), set()).update(re.findall(r"isobit::(\w+)", deps))
    for m in re.finditer(r"\btarget_link_libraries\(isobit(_\w+)?\s([^)]*)\)", text):
        room = m.group(1)[1:] if m.group(1) else "cli"
        found.setdefault(room, set()).update(re.findall(r"isobit::(\w+)", m.group(2)))
    return found


def room_included(name):
    """The target whose headers an include path belongs to, or None."""
    parts = name.split("/")
    if parts[0] != "isobit" or len(parts) < 3:
        return None
    return "vendor" if name.startswith("isobit/kernels/vendor/") else parts[1]


def rooms_used(path, text):
    """The targets, its own room's aside, whose headers a file of a room includes; with the places."""
    parts = path.split("/")
    if parts[0] != "isobit" or len(parts) < 3 or not path.endswith(CXX) or is_test_only(path):
        return
    for m in _INCLUDE.finditer(text):
        included = room_included(m.group(2))
        if included and included != room_included(path):
            yield included, m


def declared_dependencies(path, text, declared):
    """A file of a room includes only headers of the rooms that the room links, by name, in its CMakeLists.txt."""
    room = room_included(path)
    for included, m in rooms_used(path, text):
        if included not in declared.get(room, {included}):
            yield _at(text, m.start()), f"{m.group(2)}: isobit::{included} is not among the DEPS of {room} in CMake"


def declared_names(path, text, declared, rooms):
    """A file that writes `room::` outside comments belongs to a room that links that one, by name: a type that comes by
    way of another room's header is used, too."""
    room = room_included(path)
    if room not in declared or not path.endswith(CXX) or is_test_only(path):
        return
    code = without_comments(text)
    linked = declared[room] | {room} | ({"kernels"} if "vendor" in declared[room] else set())  # a namespace for both
    for m in re.finditer(r"(?<![\w:])(?:(?:::)?isobit::({0})(?=::|\s*{{)|({0})::)".format("|".join(rooms)), code):
        named = m.group(1) or m.group(2)
        if named not in linked:
            yield _at(code, m.start()), f"{named}:: named: isobit::{named} is not among the DEPS of {room} in CMake"


RULES = (length, finished, no_machine_paths, tidy_text, full_include_paths, header_form, no_libm, ordered_only)
