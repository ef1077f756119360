"""What a model is asked after its cache was compressed: documents with questions."""

from kvteach.evaluate.tasks.example import Example, Question
from kvteach.evaluate.tasks.registry import TASKS, Task, get, offered

__all__ = ["TASKS", "Example", "Question", "Task", "get", "offered"]
