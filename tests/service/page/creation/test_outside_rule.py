"""The form has fields for the parameters of a rule and of an outcome model from outside.

The fields are made when the service is loaded, so each test is a program that registers first.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]

FORM = """
from tests.outside import Explore, Rating, registered
with registered():
    from bascule.core.rules import RULES
    from bascule.service.page.creation import options
    from bascule.service.page.creation.form import Form, problem_words
    from bascule.service.page.creation.form import first_stage, plan_view
    from bascule.service.auth.access import Caller
    from bascule.service.page.planned import answer_form
    from bascule.service.page.render import render

    assert options.outcomes_with("best") == ("rating",) and "best" in options.OF_SOME_OUTCOMES
    assert options.FORM["other_rule"].choices == ("none", *RULES.kinds)
    assert options.rules_with("rule-epsilon") == ("explore",)
    assert "rule-epsilon" in options.ADVANCED

    typed = {"other_rule": "explore", "rule-epsilon": "10%", "outcome": "rating", "best": "7"}
    typed |= {"baseline": "3", "lift": "0.4", "name": "stars", "counts": "first"}
    form = Form.read(typed)
    assert form.rules() == (Explore(0.1),) and form.request().outcome == Rating(7)
    assert Form.read({**typed, "other_rule": "none", "rule-epsilon": ""}).rules() == ()
    plan = first_stage(form.request(), form.rules())
    answer = plan_view(plan, form.choice)
    assert answer.picked.rule.label == "Explore_0.1"
    assert form.design(plan).rule == Explore(0.1)
    assert Form.read({**typed, "rule": "fastest"}).design(plan).rule != Explore(0.1)
    said = problem_words(Form.read({**typed, "rule-epsilon": "2"}).problems())
    assert list(said) == ["rule-epsilon"], said
    assert said["rule-epsilon"].startswith("Epsilon must lie strictly between"), said
    answered = answer_form(form.typed)
    assert answered.design.rule == Explore(0.1) and not answered.problems
    shown = render(
        "new.html", form=form, answer=answered, problems={}, token="t",
        tried=False, caller=Caller("ann", "admin"),
    )
    assert 'name="rule-epsilon"' in shown and 'data-rules="explore"' in shown
    assert 'name="best"' in shown and "Best rating" in shown
print("ok")
"""


def test_a_rule_and_an_outcome_from_outside_have_their_fields() -> None:
    command = [sys.executable, "-c", FORM]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "ok\n", done.stderr
