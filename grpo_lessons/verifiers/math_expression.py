"""One arithmetical expression, by recursive descent: tokens -> a SymPy expression, nothing guessed, nothing huge."""

from __future__ import annotations

from typing import Any

import sympy

from .math_arithmetic import CONSTANTS, LETTERS, apply, binomial, divide, factorial, number, raise_to, root
from .math_notation import Unreadable
from .math_tokens import FUNCTIONS, Token, names

ACCENTS = names("bar vec hat overline tilde dot widehat overrightarrow")
GREEK = names(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar"
)
STARTS_FACTOR = {"frac", "sqrt", "binom", "lfloor", "lceil", *CONSTANTS, *ACCENTS, *GREEK, *FUNCTIONS}
END = Token("end", "")


class Expression:
    """Grammar, loosest first: sum, product, sign, power, postfix, atom."""

    def __init__(self, part: list[Token]):
        self.part = part
        self.place = 0
        self.in_bars = False

    def read(self) -> Any:
        value = self.sum()
        if self.next != END:
            raise Unreadable(f"{self.next.text!r} was not expected")
        if value.has(sympy.nan, sympy.zoo):
            raise Unreadable("the expression has no value")
        return value

    @property
    def next(self) -> Token:
        return self.part[self.place] if self.place < len(self.part) else END

    def take(self, *texts: str) -> Token | None:
        """The next token if it is a sign or command with one of these texts."""
        token = self.next
        if token.kind in ("sign", "command") and token.text in texts:
            self.place += 1
            return token
        return None

    def expect(self, text: str) -> None:
        if self.take(text) is None:
            raise Unreadable(f"expected {text!r} and found {self.next.text!r}")

    def sum(self) -> Any:
        value = self.product()
        while sign := self.take("+", "-"):
            term = self.product()
            value = value + term if sign.text == "+" else value - term
        return value

    def product(self) -> Any:
        value, over = self.signed(), False
        while True:
            if self.take("*"):
                value, over = value * self.signed(), False
            elif self.take("/", ":"):
                value, over = divide(value, self.signed()), True
            elif self._starts_factor():
                if over:
                    raise Unreadable("a/bc: what stands under the slash?")
                value = value * self.power()
            else:
                return value

    def _starts_factor(self) -> bool:
        token = self.next
        if token.kind == "sign":
            return token.text in "([" or (token.text == "|" and not self.in_bars)
        return token.kind == "letter" or (token.kind == "command" and token.text in STARTS_FACTOR)

    def signed(self) -> Any:
        if self.take("-"):
            return -self.signed()
        return self.signed() if self.take("+") else self.power()

    def power(self) -> Any:
        base = self.postfix()
        if not self.take("^"):
            return base
        return raise_to(base, -self.postfix() if self.take("-") else self.power())  # 2^-3 is a plain notation

    def postfix(self) -> Any:
        value = self.atom()
        while sign := self.take("!", "%"):
            value = value / 100 if sign.text == "%" else factorial(value)
        return value

    def atom(self) -> Any:
        token = self.next
        self.place += 1
        if token.kind == "number":
            return self._mixed(number(token.text))
        if token.kind == "letter":
            return self._named(token.text)
        if token.kind == "end":
            raise Unreadable("the expression ends too early")
        if token.text in "([{" and token.kind == "sign":
            value = self.sum()
            self.expect({"(": ")", "[": "]", "{": "}"}[token.text])
            return value
        if token == ("sign", "|"):
            return self._absolute()
        return self._command(token.text) if token.kind == "command" else self._refuse(token)

    def _absolute(self) -> Any:
        if self.in_bars:
            raise Unreadable("bars inside bars")
        self.in_bars = True
        value = self.sum()
        self.expect("|")
        self.in_bars = False
        return sympy.Abs(value)

    def _refuse(self, token: Token) -> Any:
        raise Unreadable(f"{token.text!r} was not expected")

    def _mixed(self, value: Any) -> Any:
        r"""2\frac{1}{2}, a whole number before a proper fraction of numbers, is two and a half."""
        ahead = [token.text for token in self.part[self.place : self.place + 7]]
        if len(ahead) == 7 and [ahead[0], ahead[1], ahead[3], ahead[4], ahead[6]] == ["frac", "{", "}", "{", "}"]:
            top, bottom = ahead[2], ahead[5]
            if value.is_Integer and top.isdecimal() and bottom.isdecimal() and 0 < number(top) < number(bottom):
                self.place += 7
                return value + number(top) / number(bottom)
        return value

    def _named(self, name: str) -> Any:
        if self.take("_"):
            name += "_" + self._raw()
        while self.take("'"):
            name += "'"
        return LETTERS.get(name) or sympy.Symbol(name)

    def _raw(self) -> str:
        """The text of one token or one group, for a subscript or under an accent."""
        if not self.take("{"):
            token, self.place = self.next, self.place + 1
            return token.text if token.kind in ("letter", "number") else self._refuse(token)
        start = self.place
        while self.next.kind in ("letter", "number") or self.next.text in (",", "+", "-"):
            self.place += 1
        text = "".join(token.text for token in self.part[start : self.place])
        self.expect("}")
        return text or self._refuse(self.next)

    def _command(self, name: str) -> Any:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in GREEK:
            return self._named(name)
        if name in ACCENTS:
            return sympy.Symbol(f"{name}({self._raw()})")
        if name == "frac":
            return divide(self._argument(), self._argument())
        if name == "binom":
            return binomial(self._argument(), self._argument())
        if name == "sqrt":
            return self._root()
        if name in ("lfloor", "lceil"):
            value = self.sum()
            self.expect("r" + name[1:])
            return (sympy.floor if name == "lfloor" else sympy.ceiling)(value)
        return self._function(name) if name in FUNCTIONS else self._refuse(Token("command", name))

    def _argument(self) -> Any:
        r"""A group, or one digit or letter without braces, as in \sqrt2."""
        if self.take("{"):
            value = self.sum()
            self.expect("}")
            return value
        token, self.place = self.next, self.place + 1
        if token.kind == "number" and len(token.text) == 1:
            return number(token.text)
        return self._named(token.text) if token.kind == "letter" else CONSTANTS.get(token.text) or self._refuse(token)

    def _root(self) -> Any:
        index = sympy.Integer(2)
        if self.take("["):
            index = self.sum()
            self.expect("]")
        if self.take("("):  # sqrt(2), a plain notation
            value = self.sum()
            self.expect(")")
        else:
            value = self._argument()
        return root(value, index)

    def _function(self, name: str) -> Any:
        base = exponent = None
        if self.take("_"):
            base = self._argument()
        if self.take("^"):
            exponent = self._argument() if not self.take("-") else -self._argument()
        if self.take("("):
            argument = self.sum()
            self.expect(")")
            if exponent is None and self.take("^"):  # sin(x)^2
                exponent = self._argument()
        else:
            argument = self._bare_argument()
        return apply(name, argument, base, exponent)

    def _bare_argument(self) -> Any:
        r"""What follows \sin without brackets: one product of numbers, letters, powers and fractions."""
        negative = self.take("-")
        if self.next.kind == "command" and self.next.text in FUNCTIONS - {"sqrt"}:
            raise Unreadable("a function of a function needs brackets")
        value = self.power()
        while self._starts_factor() and self.next.text not in FUNCTIONS - {"sqrt"} and self.next.text not in "([":
            value = value * self.power()
        return -value if negative else value
