from __future__ import annotations

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools.structure.languages import language_named
from zidane_lab.tools.structure.patterns import read_pattern, read_rules
from zidane_lab.tools.structure.rewrite import Match, rewrite_text

PYTHON = language_named("python")


def rules(*ops):
    return read_rules(ops, PYTHON)


def at(text, piece, number=0, *, rule=0, **captures):
    """A match at the place of a piece, with captures at the places of theirs within it."""
    start = -1
    for _ in range(number + 1):
        start = text.index(piece, start + 1)
    places = {}
    for name, inner in captures.items():
        dollars = "$$$" if name.isupper() and len(name) > 1 else "$"
        inside = None if inner is None else start + piece.index(inner)
        places[f"{dollars}{name}"] = None if inner is None else (inside, inside + len(inner))
    return Match(rule, start, start + len(piece), places)


def apply(text, replacements):
    for each in reversed(replacements):
        text = text[: each.start] + each.new + text[each.end :]
    return text


def test_captures_are_put_where_the_rewrite_names_them():
    text = "x = swap(a, b)\n"
    done = rewrite_text(text, [at(text, "swap(a, b)", A="a", B="b")], rules(("swap($A, $B)", "swap($B, $A, $A)")))
    assert apply(text, done) == "x = swap(b, a, a)\n"
    assert [(each.start, each.matches) for each in done] == [(4, 1)]


def test_what_stays_the_same_is_no_replacement():
    text = "f(x)\n"
    assert rewrite_text(text, [at(text, "f(x)", A="x")], rules(("f($A)", "f($A)"))) == []


def test_a_match_in_a_capture_is_rewritten_with_it():
    text = "f(f(f(x)), y)\n"
    matches = [
        Match(0, 0, 13, {"$$$ARGS": (2, 12)}),
        Match(0, 2, 9, {"$$$ARGS": (4, 8)}),
        Match(0, 4, 8, {"$$$ARGS": (6, 7)}),
    ]
    done = rewrite_text(text, matches, rules(("f($$$ARGS)", "g($$$ARGS)")))
    assert apply(text, done) == "g(g(g(x)), y)\n"
    assert [each.matches for each in done] == [3]


def test_thousands_of_nested_matches_are_rewritten():
    depth = 5_000
    text = "f(" * depth + "x" + ")" * depth
    matches = [
        Match(0, 2 * level, len(text) - level, {"$A": (2 * level + 2, len(text) - level - 1)}) for level in range(depth)
    ]
    done = rewrite_text(text, matches, rules(("f($A)", "g($A)")))
    assert apply(text, done) == text.replace("f", "g")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Match(0, 0, 7, {"$A": (2, 3)}), Match(1, 0, 7, {})),  # both the same piece
        (Match(0, 0, 7, {"$A": (2, 3)}), Match(1, 5, 6, {})),  # in it, but not captured
        (Match(0, 0, 7, {"$A": None}), Match(1, 2, 3, {})),
    ],
)
def test_other_overlaps_are_refused(one, other):
    with pytest.raises(ToolError, match=r"Overlapping replacements in line 1 .*'f\(\$A, 1\)' and 'y' both fit"):
        rewrite_text("f(x, y)", [one, other], rules(("f($A, 1)", "$A"), ("y", "z")))


def test_lines_move_with_the_place_they_are_put_in():
    text = "def f():\n    if a:\n        b(\n            1,\n        )\n        c\n"
    match = Match(0, 13, len(text) - 1, {"$A": (16, 17), "$$$B": (27, len(text) - 1)})
    ops = ("if $A:\n    $$$B", "with $A:\n    try:\n        $$$B\n    finally:\n        pass")
    assert apply(text, rewrite_text(text, [match], rules(ops))) == (
        "def f():\n    with a:\n        try:\n            b(\n                1,\n            )\n            c\n"
        "        finally:\n            pass\n"
    )


def test_lines_of_a_value_keep_their_indentation():
    text = '    if a:\n        s = """\n        x\n"""\n        t\n'
    end = len(text) - 1
    match = Match(0, 4, end, {"$A": (7, 8), "$$$B": (18, end)})
    fixed = [text.index("        x"), text.index('"""\n        t')]
    done = rewrite_text(text, [match], rules(("if $A:\n    $$$B", "$$$B")), fixed=fixed)
    assert apply(text, done) == '    s = """\n        x\n"""\n    t\n'


def test_lines_of_a_value_in_the_rewrite_keep_theirs():
    text = "  f(x)\n"
    ops = ("f($A)", 'g("""\na\n""",\n$A)')
    done = rewrite_text(text, [at(text, "f(x)", A="x")], rules(ops), rule_fixed=[[6, 8]])
    assert apply(text, done) == '  g("""\na\n""",\n  x)\n'


def test_tabs_are_indentation():
    text = "\tif a:\n\t\tb\n\t\tc\n"
    match = Match(0, 1, len(text) - 1, {"$A": (4, 5), "$$$B": (9, len(text) - 1)})
    assert apply(text, rewrite_text(text, [match], rules(("if $A:\n    $$$B", "$$$B")))) == "\tb\n\tc\n"


def test_white_space_that_touches_the_brackets_stays():
    text = "f(\n    a,  # why\n    b,  # not\n)\n"
    start, end = text.index("a,"), text.index("\n)")
    match = Match(0, 0, len(text) - 1, {"$$$ARGS": (start, end)})
    assert apply(text, rewrite_text(text, [match], rules(("f($$$ARGS)", "g($$$ARGS)")))) == text.replace("f", "g", 1)


@pytest.mark.parametrize(
    ("rewrite", "expected"),
    [
        ("g($A, $$$REST)", "g(a)"),
        ("g($$$REST, $A)", "g(a)"),
        ("g($A, $$$REST, b)", "g(a, b)"),
        ("g($$$REST)", "g()"),
        ("($A, $$$REST)", "(a, )"),
        ("x[$A, $$$REST]", "x[a, ]"),
        ("[$A, $$$REST]", "[a, ]"),
    ],
)
def test_nothing_takes_its_comma_along_in_calls_only(rewrite, expected):
    text = "f(a)"
    match = Match(0, 0, 4, {"$A": (2, 3), "$$$REST": None})
    assert apply(text, rewrite_text(text, [match], rules(("f($A, $$$REST)", rewrite)))) == expected


def test_what_stood_alone_on_its_lines_takes_them_along():
    text = "a\n    f(x)\nb; f(x)\nf(\nx)\n"
    found = [at(text, "f(x)"), at(text, "f(x)", 1), at(text, "f(\nx)")]
    assert apply(text, rewrite_text(text, found, rules(("f($$$A)", "")))) == "a\nb; \n"


def test_a_deletion_at_the_end_without_a_line_end():
    assert apply("a\nf(x)", rewrite_text("a\nf(x)", [Match(0, 2, 6)], rules(("f($A)", "  ")))) == "a\n"


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_an_empty_pattern_is_refused(text):
    with pytest.raises(ToolError, match="The pattern is empty"):
        read_pattern(text)


def test_captures_of_a_pattern():
    pattern = read_pattern("$A($$$B, $_, $_X, $$$, $$C, $A)")
    assert (pattern.word, read_pattern("foo($A_LONG_NAME, b.barre, 'x')").word) == ("", "barre")
    assert (pattern.ones, pattern.many) == (("A", "C"), ("B",))
    assert pattern.tight == (frozenset("B"), frozenset("B"))
    assert read_pattern("def $N($$$P): $$$B").tight == (frozenset("P"), frozenset("P"))


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ([], "There are no ops"),
        ([("f($A)", "g"), (" f($A) ", "h")], "comes twice"),
        ([("f($A)", "g($B)")], r"names \$B, which the pattern does not capture"),
        ([("f($$$A)", "g($A)")], r"names \$A"),
        ([("f($_X)", "g($_X)")], r"names \$_X"),
        ([("f(" * 6_000, "x")], "has 12,000 characters"),
        ([("f('\ud800')", "x")], "half of a surrogate pair"),
    ],
)
def test_rules_that_make_no_sense_are_refused(ops, message):
    with pytest.raises(ToolError, match=message):
        read_rules(ops, PYTHON)


def test_the_hint_knows_the_dollars_that_were_meant():
    with pytest.raises(ToolError) as caught:
        read_rules([("f($$$A)", "g($A)")], PYTHON)
    assert "Write $$$A" in caught.value.hint


def test_dollars_of_the_language_itself_stay():
    (rule,) = read_rules([("cat $F", "cat $HOME/$F")], language_named("bash"))
    assert [part if isinstance(part, str) else part.name for part in rule.parts] == ["cat $HOME/", "$F", ""]


def test_rules_come_in_the_order_of_their_patterns():
    assert [each.pattern.text for each in rules(("b", "1"), ("a", "2"))] == ["a", "b"]


def test_many_matches_in_one_long_line():
    text = "f(x); " * 20_000
    matches = [
        Match(0, 6 * number, 6 * number + 4, {"$A": (6 * number + 2, 6 * number + 3)}) for number in range(20_000)
    ]
    done = rewrite_text(text, matches, rules(("f($A)", "g($A)")))
    assert "".join(each.new for each in done) == "g(x)" * 20_000
    assert len(rewrite_text(text, matches, rules(("f($A)", "")))) == 20_000
