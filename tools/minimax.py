#!/usr/bin/env python3
"""Fits the polynomials of src/kern/map/act_body.h; needs numpy.

    tools/minimax.py            all of them
    tools/minimax.py log atan   some

Each line is one polynomial, lowest power first, with the largest weighted error of the fit before and
after its coefficients became floats. Method: Lawson's reweighting towards the minimax solution, in
double; then each coefficient in turn is rounded and the ones after it are fitted again.
"""
import math
import sys

import numpy as np


def lawson(basis, target, weight):
    """Coefficients that make max |weight * (basis @ c - target)| small."""
    lam = np.ones(len(target))
    best, best_err = None, np.inf
    for _ in range(400):
        s = np.sqrt(lam) * weight
        c, *_ = np.linalg.lstsq(basis * s[:, None], target * s, rcond=None)
        err = np.abs(weight * (basis @ c - target))
        if err.max() < best_err:
            best, best_err = c, err.max()
        lam *= err / err.max() + 1e-3
        lam /= lam.sum()
    return best, best_err


def fit(name, powers, f, weight, lo, hi, exact=()):
    """f(x) ~ sum_k c_k x^powers[k] on [lo, hi]; `exact` holds (power, coefficient) already decided."""
    t = np.cos(np.pi * (np.arange(4001) + 0.5) / 4001)
    x = 0.5 * (lo + hi) + 0.5 * (hi - lo) * t
    y = np.array([f(v) for v in x])
    for p, c in exact:
        y = y - c * x**p
    w = np.array([weight(v) for v in x])
    basis = np.stack([x**p for p in powers], 1)
    _, ideal = lawson(basis, y, w)
    coeffs, rest = [], y.copy()
    for k in range(len(powers)):
        c, _ = lawson(basis[:, k:], rest, w)
        coeffs.append(float(np.float32(c[0])))
        rest = rest - coeffs[-1] * basis[:, k]
    err = np.abs(w * rest).max()
    print(f"{name}: " + ", ".join(f"{np.float32(c):.9g}f" for c in coeffs) + f"   [{ideal:.2g} -> {err:.2g}]")


def relative(f):
    return lambda x: 1 / abs(f(x)) if f(x) else 0.0


LN2 = math.log(2)
FITS = {
    # e^r, |r| <= ln(2)/2
    "exp": lambda: fit("exp", [2, 3, 4, 5, 6], lambda r: math.expm1(r), lambda r: math.exp(-r), -LN2 / 2 * 1.001, LN2 / 2 * 1.001, [(1, 1)]),
    # the same, without the last term
    "exp_low": lambda: fit("exp_low", [2, 3, 4, 5], lambda r: math.expm1(r), lambda r: math.exp(-r), -LN2 / 2 * 1.001, LN2 / 2 * 1.001, [(1, 1)]),
    # ln(1+f), sqrt(1/2) <= 1+f < sqrt(2)
    "log": lambda: fit("log", [3, 4, 5, 6, 7, 8, 9, 10], math.log1p, relative(math.log1p), math.sqrt(0.5) - 1, math.sqrt(2) - 1, [(1, 1), (2, -0.5)]),
    # sin and cos, |x| <= pi/4
    "sin": lambda: fit("sin", [3, 5, 7, 9], math.sin, relative(math.sin), 1e-3, math.pi / 4 * 1.001, [(1, 1)]),
    "cos": lambda: fit("cos", [4, 6, 8], math.cos, relative(math.cos), 1e-3, math.pi / 4 * 1.001, [(0, 1), (2, -0.5)]),
    # atan, 0 <= x <= 1
    "atan": lambda: fit("atan", [3, 5, 7, 9, 11, 13, 15, 17], math.atan, relative(math.atan), 1e-3, 1, [(1, 1)]),
    # asin, 0 <= x <= 1/2
    "asin": lambda: fit("asin", [3, 5, 7, 9, 11], math.asin, relative(math.asin), 1e-3, 0.5, [(1, 1)]),
    # erf(x)/x, x < 0.921875
    "erf_low": lambda: fit("erf_low", [1, 3, 5, 7, 9, 11], math.erf, relative(math.erf), 1e-3, 0.921875),
    # -ln(erfc(x)), weighted by the error it leaves in erf
    "erf_high": lambda: fit("erf_high", [0, 1, 2, 3, 4, 5, 6], lambda x: -math.log(math.erfc(x)), lambda x: math.erfc(x) / math.erf(x), 0.921875, 3.925),
    # (ln((1+s)/(1-s)) - 2s) / s^3, |s| <= (sqrt(2)-1)/(sqrt(2)+1), weighted by the error it leaves in the logarithm
    "atanh": lambda: fit("atanh", [3, 5, 7, 9], lambda s: 2 * math.atanh(s), lambda s: 1 / (2 * s), 5e-3, 0.1716, [(1, 2)]),
}

if __name__ == "__main__":
    for n in sys.argv[1:] or FITS:
        FITS[n]()
