"""Writes scipy.json beside it: what scipy gives for the data of the tests. Documentation; the tests do not run it.

python3 -m venv venv && venv/bin/pip install scipy==1.17.1 && venv/bin/python fixtures.py
"""

import json
import pathlib

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20)
EXACT = stats.PermutationMethod(
    n_resamples=np.inf
)  # all permutations: exact with ties too


def signed_rank(name, x, theta, **how):
    d = np.asarray(x) - theta
    test = {
        a: stats.wilcoxon(d, zero_method="wilcox", alternative=a, **how)
        for a in ("less", "greater", "two-sided")
    }
    return {
        "name": name,
        "x": list(map(float, x)),
        "theta": theta,
        "statistic": test[
            "greater"
        ].statistic,  # with a one-sided alternative: the sum of the positive ranks
        "less": test["less"].pvalue,
        "greater": test["greater"].pvalue,
        "two_sided": test["two-sided"].pvalue,
    }


def hodges_lehmann(name, x, level, method):
    """The interval as the set of centres that the two-sided test does not reject, its ends at Walsh averages."""
    x = np.asarray(x)
    i, j = np.triu_indices(len(x))
    averages = np.sort((x[i] + x[j]) / 2)
    gaps = np.concatenate(
        [[averages[0] - 1], (averages[1:] + averages[:-1]) / 2, [averages[-1] + 1]]
    )
    p = [stats.wilcoxon(x - g, method=method, correction=True).pvalue for g in gaps]
    kept = [
        g for g, q in enumerate(p) if q > 1 - level
    ]  # gap g lies between averages g-1 and g
    lower, upper = max(kept[0] - 1, 0), min(kept[-1], len(averages) - 1)
    return {
        "name": name,
        "x": list(map(float, x)),
        "level": level,
        "estimate": float(np.median(averages)),
        "lower": float(averages[lower]),
        "upper": float(averages[upper]),
        "attained": 1 - p[lower] if kept[0] > 0 else 1 - p[0],
    }


def mann_whitney(name, a, b, **how):
    test = {
        s: stats.mannwhitneyu(a, b, alternative=s, **how)
        for s in ("less", "greater", "two-sided")
    }
    return {
        "name": name,
        "a": list(map(float, a)),
        "b": list(map(float, b)),
        "statistic": test["less"].statistic,
        "less": test["less"].pvalue,
        "greater": test["greater"].pvalue,
        "two_sided": test["two-sided"].pvalue,
    }


def normal(n, centre=0.05):
    return np.round(rng.normal(centre, 0.1, n), 6)


signed = [
    signed_rank(f"n={n}", normal(n), 0.0, method="exact")
    for n in (1, 2, 3, 5, 6, 7, 12, 20, 30, 50)
]
signed += [signed_rank("theta", normal(12, 0.4), 0.35, method="exact")]
signed += [
    signed_rank("ties", [1, 1, 2, -2, 3, 3, 3, -1, 4, 5], 0.0, method=EXACT),
    signed_rank("zeros", [0, 0, 1, -2, 3, 4, 5, 6], 0.0, method=EXACT),
    signed_rank(
        "zeros and ties", [0, 2, 2, -2, 2, 5, 5, -1, 7, 0, 8], 0.0, method=EXACT
    ),
    signed_rank("n=100", normal(100, 0.02), 0.0, method="asymptotic", correction=True),
    signed_rank(
        "n=100 with ties",
        np.round(rng.normal(3, 10, 100)),
        0.0,
        method="asymptotic",
        correction=True,
    ),
]
centres = [
    hodges_lehmann(f"n={n} at {level}", normal(n), level, "exact")
    for n in (1, 2, 4, 5, 6, 7, 9, 12, 20, 30)
    for level in (0.90, 0.95)
]
centres += [hodges_lehmann("n=70", normal(70), 0.95, "asymptotic")]
unpaired = [
    mann_whitney(f"{n} and {m}", normal(n), normal(m, 0.0), method="exact")
    for n, m in ((1, 1), (3, 5), (6, 6), (12, 12), (12, 30), (30, 20))
]
unpaired += [
    mann_whitney("ties", [1, 2, 2, 3, 5], [2, 3, 3, 4, 6, 6], method=EXACT),
    mann_whitney("all equal", [2, 2, 2], [2, 2, 2], method=EXACT),
    mann_whitney("40 and 35", normal(40), normal(35, 0.0), method="asymptotic"),
    mann_whitney(
        "40 and 35 with ties",
        np.round(rng.normal(3, 4, 40)),
        np.round(rng.normal(2, 4, 35)),
        method="asymptotic",
    ),
]
line_x = [1, 2, 4, 8, 16, 32, 64]
line_y = [
    float(round(v, 4))
    for v in 3 * np.array(line_x) ** 0.9 * np.exp(rng.normal(0, 0.1, 7))
]
fit = stats.linregress(np.log(line_x), np.log(line_y))

out = {
    "scipy": scipy.__version__,
    "signed_rank": signed,
    "hodges_lehmann": centres,
    "mann_whitney": unpaired,
    "log_log": {
        "x": line_x,
        "y": line_y,
        "slope": fit.slope,
        "intercept": fit.intercept,
    },
}
text = (
    json.dumps(out, indent=None)
    .replace('{"name"', '\n{"name"')
    .replace(', "hodges', ',\n"hodges')
)
pathlib.Path(__file__).with_name("scipy.json").write_text(text + "\n")
