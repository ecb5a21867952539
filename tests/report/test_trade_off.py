from __future__ import annotations

from bascule.report.trade_off import draw_trade_off, trade_off


def test_the_knob_buys_time_with_regret() -> None:
    compared = trade_off([0.0, 1.0], alphas=(1.5, 2.0, 4.0), tilts=(1.0, 3.0), runs=400, seed=1)
    regrets = [point.regret.mean for point in compared.family]
    times = [point.decision_time.mean for point in compared.family]
    assert regrets == sorted(regrets)
    assert times == sorted(times, reverse=True)
    assert all(point.error_rate <= compared.error for point in compared.points)


def test_the_picture_names_every_point() -> None:
    compared = trade_off([0.0, 1.0], alphas=(2.0, 4.0), tilts=(3.0,), runs=50)
    (axis,) = draw_trade_off(compared).axes
    assert [text.get_text() for text in axis.texts] == [
        "UCB$_{2}$",
        "UCB$_{4}$",
        "UCB$_∞$ = ETC′",
        "ETC",
        "tilt 3",
    ]
