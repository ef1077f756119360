"""The grader: exercises are judged by pytest, learners' code runs elsewhere.

    command   what `kvteach grade` understands
    course    where the exercises are and what they are worth
    grade     starts the judge, collects what it reports, adds up the points
    report    prints the result
    judge     a child process: runs the checks under pytest
    plugin    the pytest fixture `answer`, also for plain `pytest exercises/...`
    answer    the learner's functions as the judge sees them
    checks    what a check file is written with
    worker    a child of the judge: runs the learner's code, and nothing else does
    codec     how arguments and results cross between judge and worker
    stubs     makes exercises/ and manifest.json out of solutions/

Accidents cannot earn points: a crash, an endless loop, a skip, a patched
library or an edited check. The grader is no prison, though: code that sets out
to attack it runs under the same user. Grade strangers in a container.
"""
