from .each import LogAnswer, LogCollection
from .evidence.course import Day
from .evidence.kinds import Evidence
from .result import Analysis, ArmAnswer, Check

__all__ = ["Analysis", "ArmAnswer", "Check", "Day", "Evidence", "LogAnswer", "LogCollection"]
