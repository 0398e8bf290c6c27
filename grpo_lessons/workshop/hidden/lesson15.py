"""Hidden inputs of lesson 15: other tests, other suites, and pairs of other rules, two and five of them."""

INPUTS = {
    "15.split_test": (
        ("assert total(2, 3) == 5",),
        ("assert f([1, 2]) == {'a': 1}",),
        ("assert f('==') == '=='",),
        ("assert f(-4) == None",),
        ("assert f('assert')  == 'assert x == y'",),
        ("assert f(f(2)) == 2.5",),
        ("assert f() == (1, 'two')",),
    ),
    "15.suite_reward": (
        ([True, True, True, True], False),
        ([True, True, True, True, False], False),
        ([False, True], False),
        ([True], True),
        ([True, True, True], True),
        ([False], True),
        ([], True),
    ),
    "15.cheat": (
        ([(4, 16), (-1, 1)], [(3, 9), (0, 0)]),
        ([(0, 7), (1, 4), (2, 1), (5, -8), (9, -20)], [(3, -2), (4, -5)]),
    ),
}
