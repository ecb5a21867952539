"""Find a column of a table by the name that was given, or by usual names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bascule.analysis.call import PER_ROW, Asked, LogMetric
from bascule.analysis.source.places import run
from bascule.core.errors import InputError, invalid, nearest

USUAL: dict[str, tuple[str, ...]] = {
    "unit": (
        *("unit", "user_id", "user", "unit_id", "userid", "customer_id", "visitor_id", "uid"),
        *("client_id", "device_id", "subject_id", "patient_id", "subject", "patient", "customer"),
        *("participant", "participant_id", "visitor", "account_id", "member_id"),
        *("distinct_id", "user_pseudo_id", "subject_key", "context_key", "targeting_key", "kunde"),
        *("kundennummer", "nutzer", "besucher", "identifiant", "utilisateur", "cliente", "usuario"),
        *("utente", "klant", "gebruiker", "utilizador"),
    ),
    "arm": (
        *("arm", "variant", "group", "treatment", "trt", "variation", "variant_id", "rx"),
        *("variation_id", "test_group", "experiment_group", "treatment_group", "ab_group"),
        *("arm_name", "variant_name", "variation_name", "experiment_arm", "group_name"),
        *("variante", "groupe", "grupo", "gruppo", "groep", "braccio", "brazo", "bras"),
    ),
    "perhaps an arm": (
        *("version", "segment", "bucket", "condition", "cohort", "branch", "treat", "treated"),
        *("exposed", "test", "grp", "cell", "gruppe", "promotion", "promo", "campaign", "offer"),
        *("campaign_name",),
    ),
    "value": (
        *("value", "revenue", "outcome", "y", "converted", "conversion", "conversions"),
        *("clicked", "clicks", "purchased", "purchases", "bought", "amount", "spend"),
        *("spent", "sales", "orders", "event", "events", "status", "response", "signups"),
        *("success", "event_value", "metric_value", "purchase_amount", "order_value"),
    ),
    "perhaps a value": (
        *("visit", "visits", "visited", "views", "viewed", "pageviews", "page_views", "sessions"),
        *("enrollments", "enrolments", "registrations", "subscriptions", "leads", "installs"),
        *("downloads", "transactions", "purchase", "payments", "profit", "retained", "churned"),
        *("voted", "target"),
    ),
    "time": (
        *("time", "ts", "timestamp", "at", "date", "day", "datetime", "event_time"),
        *("event_timestamp", "event_date", "event_dt", "created_at", "assigned_at", "occurred_at"),
        *("week", "ds"),
    ),
    "perhaps a time": (
        *("first_exposure", "first_exposure_at", "first_exposure_utc", "first_exposure_timestamp"),
        *("exposed_at", "exposure_time", "assignment_time", "original_timestamp", "received_at"),
        *("sent_at", "purchased_at", "ordered_at", "recorded_at", "creation_date", "when", "datum"),
        *("session_start", "started_at", "first_seen", "first_evaluation", "fecha", "dato"),
    ),
}
"""Usual names of a column by its role, compared in lower case."""

COUNTS = (
    *("impressions", "visitors", "users", "units", "count", "n", "sample_size", "exposures"),
    *("views", "pageviews", "page_views", "visits", "sessions", "trials", "n_users", "subjects"),
    *("num_users", "user_count", "total_users", "customers", "participants", "reach"),
)
"""Names of columns that may count the units of a row."""

IDENTITY = (
    r"(^|_)(id|uuid|guid|email)$|(user|customer|visitor|client|device|session|order|cookie)id$"
)
"""Pattern of the names of identity columns."""

GROUPS = (
    r"(^|_)(hh|household|family|school|class|classroom|teacher|store|shop|location|market|site|"
    r"center|centre|clinic|hospital|village|region|cluster|city|country|company)_?(id)?$"
)
"""Pattern of the names of groups whose members may be the units."""

NUMBER_OF = r"^(#|number|no|num|total)_(of_)?"
"""Pattern of prefixes of counts, as in `number_of_users`."""

TESTS = r"(^|_)(test|experiment)(_(id|name|number|key))?$"
"""Pattern of the names of columns that say which test a row belongs to."""

METRICS = r"^(metric|measure|measurement|kpi|variable|parameter|paramcd)(_(name|id|key|code))?$"
"""Pattern of the names of columns that say which metric the value of a row belongs to."""

ARM_ENDINGS = r"(^|_)(arm|variant|variation|treatment)(_(id|name|key|label|string))?$"
"""Pattern of the names of arm columns."""

KINDS = r"^(event|action|activity|step|stage)(_(name|type|kind|label|action))?$"
"""Pattern of the names of columns with the kinds of events."""

EVENT_KINDS = r"^(event|activity|step)(_(name|type|kind|label))?$"
"""Pattern of those names in `KINDS` that are never arms; an `action` may be the arm of a bandit."""

DATES = r"(^|_)(date|datum|time|timestamp|datetime)$"
"""Pattern of the names of time columns."""

TREATED = r"^(is_)?(treat|treated|treatment|test|exposed|intervention|experiment|new_page)(_|$)"
"""Pattern of the names of flags that may be the arm."""

PERIODS = r"_(week|day|date|month|hour|year|period)$"
"""Pattern of the names of time columns, which cannot be arms."""

PROBABILITIES = r"(^|_)(propensity|prob|probability|pscore|propensity_score)$"
"""Pattern of the names of columns with the probability of a unit's arm."""

OF_ARM = r"^(p|prob|probability|propensity)_(.+)$"
"""Pattern of the names of columns with the probability of one arm, whose name comes last."""

SQUARES = r"(^|_)(squares?|squared|sq|sumsq|ssq)(_|$)"
"""Pattern of the names of columns with sums of squares."""

MOST_KINDS = 20
"""Maximum number of kinds of events that are named in a message, and of entries of a category."""

NO_NAME = r"column\d+"
"""Pattern of the names that DuckDB gives to columns without a name."""

ROW_NUMBERS = ("unnamed:_0", "unnamed_0", "index", "row", "rownum", "row_number", "rownames")
"""Names of columns that number rows."""

INTERVALS = (
    *(("start", "stop"), ("tstart", "tstop"), ("start", "end"), ("begin", "end")),
    *(("start_time", "stop_time"), ("start_time", "end_time"), ("time1", "time2")),
    *(("start_day", "stop_day"), ("start_day", "end_day"), ("entry", "exit")),
)
"""Names of the columns with the start and the stop of a row's time at risk."""


EVENTS = ("status", "event", "events", "death", "dead", "died", "relapse", "failure")
"""Names of flags for follow-ups that ended with an event."""

DURATIONS = (
    *("time", "stop", "futime", "fu_time", "followup", "follow_up", "followup_time", "duration"),
    *("surv_time", "survtime", "survival_time", "survival", "time_to_event", "tte"),
)
"""Names of columns with the length of a unit's follow-up."""


def column(table: Any, field: str, name: str | None) -> str | None:
    """Return the column named `name`; None if `name` is None.

    >>> import types
    >>> column(types.SimpleNamespace(columns=("User ID", "ts")), "unit", "user_id")
    'User ID'
    """
    return None if name is None else named(field, name, list(table.columns))


def named(field: str, name: str, columns: Sequence[str]) -> str:
    """Return the column of that name, ignoring case and separators."""
    if name in columns:
        return name
    matching = [column for column in columns if plain(column) == plain(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InputError(
            field, f"{field}: {name!r} could be {', '.join(matching)}: give the exact name"
        )
    near = nearest(name, columns)
    hint = f"did you mean {near!r}? There are" if near else "there are"
    raise InputError(field, f"{field}: there is no column {name!r}: {hint} {', '.join(columns)}")


def with_kind(table: Any, metric: str | None) -> Any:
    """Return the table with a column for a metric `column=kind`: whether a row is of that kind.

    The table is returned unchanged if the metric is a column.
    """
    name, sign, kind = (metric or "").partition("=")
    if not sign or metric in table.columns:
        return table
    column = named("metric", name.strip(), list(table.columns))
    entries = table[column].cast("string").strip()
    is_kind = (entries == kind.strip()).fill_null(False)
    (row,) = run(table.agg(rows=is_kind.sum()))
    if not row["rows"]:
        known = run(table.select(entry=entries).distinct().order_by("entry").limit(MOST_KINDS))
        listed = ", ".join(row["entry"] for row in known if row["entry"]) or "no entries"
        raise invalid(f"metric: no row has {kind.strip()!r} in {column!r}: it has {listed}")
    return table.mutate(**{str(metric): is_kind})


def usual(field: str, there: Iterable[str]) -> list[str]:
    """Return the columns that have usual names for a role, the most usual first."""
    names = USUAL[field]
    columns = [c for c in there if plain(c) in names]
    return sorted(columns, key=lambda column: names.index(plain(column)))


def plain(name: str) -> str:
    """Return a column's name in lower case, with its words separated by underscores.

    >>> plain(" User ID"), plain("LocationID")
    ('user_id', 'location_id')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-_.]+", "_", words).lower()


def interval(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns with the start and the stop of a row's time at risk; empty if none."""
    by_name = {plain(name): name for name in columns}
    for start, stop in INTERVALS:
        if start in by_name and stop in by_name:
            return by_name[start], by_name[stop]
    return ()


def listed(names: list[str], word: str) -> str:
    """Return names of columns as text, with a note if DuckDB made them up for lack of a header."""
    made_up = bool(names) and all(re.fullmatch(NO_NAME, name) for name in names)
    text = ", ".join(names[:-1]) + f" {word} {names[-1]}" if len(names) > 1 else "".join(names)
    return text + (" (the file has no line with names)" if made_up else "")


def other_roles(table: Any, asked: Asked, metric: LogMetric, per: str | None) -> Iterator[str]:
    """Yield the columns of roles other than unit, arm, time, metric and covariate."""
    stated = asked.assigned.probability
    probabilities = stated.values() if isinstance(stated, Mapping) else [stated]
    named_roles = [pair for pair in asked.about_units.items() if pair[0] != "covariate"]
    named_roles += [("probability", probability) for probability in probabilities]
    if per is None and metric.per != PER_ROW:
        named_roles.append(("per", metric.per))
    yield from (named(role, name, list(table.columns)) for role, name in named_roles if name)
    if per is not None:
        yield per


def quoted(name: str) -> str:
    """Return the name of a column as written in SQL, quoted if necessary.

    >>> quoted("sales"), quoted("Sales [USD]")
    ('sales', '"Sales [USD]"')
    """
    return name if re.fullmatch(r"[a-z][a-z_0-9]*", name) else '"' + name.replace('"', '""') + '"'
