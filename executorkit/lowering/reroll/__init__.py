"""Re-rolling: repetitions in a graph, such as the steps of an unrolled recurrent network, as loops.

``README.md`` beside this file explains the pass on one page.
"""

from .execute import execute_plan as execute_plan
from .ir import RerollPlan as RerollPlan
from .plan import plan_for as plan_for, plan_of as plan_of
