"""Metrics of a rank of a training job, as its hook tells them; OpenTelemetry has no names for these.

Where steps are faster than observations, an observation stands for several steps: gauges are means over them,
`max_duration` the longest of them, so that one slow step among many shows.
"""

import math

from pulsetrain.schemas.catalogue.metric import BetweenSamples, JudgedBy, counter, gauge, share

TRAINING_METRICS = (
    gauge("training.step.duration", "s", "From the end of one training step to the end of the next."),
    gauge("training.step.max_duration", "s", "The longest of the steps since the previous observation."),
    counter("training.step.count", "{step}", "Steps finished since the hook was opened.", judged_by=JudgedBy.NOTHING),
    gauge("training.data_wait.duration", "s", "How long a step waited for its data."),
    gauge("training.data_wait.max_duration", "s", "The longest wait for data since the previous observation."),
    gauge(
        "training.all_reduce.duration", "s", "How long a step's all-reduces took, the wait for other ranks included."
    ),
    gauge(
        "training.loss",
        "1",
        "Loss of the step, where it is finite.",
        valid_min=-math.inf,
        judged_by=JudgedBy.CHANGE,
    ),
    share("training.loss.nonfinite", "Share of steps whose loss was NaN or infinite."),
    gauge("training.gradient.norm", "1", "Norm of all gradients before clipping, where it is finite."),
    share("training.gradient.nonfinite", "Share of steps whose gradient norm was NaN or infinite."),
    gauge(
        "training.loss_scale",
        "1",
        "Factor on the loss in mixed precision, which falls when gradients overflow.",
        judged_by=JudgedBy.CHANGE,
        between_samples=BetweenSamples.HOLD,
    ),
    counter(
        "training.allocator.retries",
        "{retry}",
        "Allocations of GPU memory that failed until cached blocks were freed.",
    ),
    counter(
        "training.hook.errors",
        "{error}",
        "Values and calls that the hook could not use; training went on.",
        judged_by=JudgedBy.NOTHING,
    ),
    counter(
        "training.hook.steps_dropped",
        "{step}",
        "Steps in no observation: not handed to the agent, or not told before their rank began anew.",
        judged_by=JudgedBy.NOTHING,
    ),
    counter(
        "pulsetrain.agent.hook.messages_refused",
        "{message}",
        "Messages at the hooks' socket that the agent could not use.",
        judged_by=JudgedBy.NOTHING,
    ),
)
