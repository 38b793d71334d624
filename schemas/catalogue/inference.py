"""Metrics of a model that an inference server serves, and of the server's response cache."""

from pulsetrain.schemas.catalogue.metric import BetweenSamples, counter, gauge, share

INFERENCE_METRICS = (
    counter("inference.requests", "{request}", "Requests answered, by inference.outcome: success or failure."),
    counter("inference.inferences", "{inference}", "Inferences made; a request with a batch of n makes n."),
    counter("inference.executions", "{execution}", "Runs of the model, each on one batch."),
    counter("inference.request.time", "s", "Sum of the durations of all requests, from arrival to answer."),
    counter("inference.queue.time", "s", "Sum of the times that requests waited to be run."),
    counter("inference.compute.time", "s", "Sum of the times spent on requests, by inference.phase."),
    counter("inference.first_response.time", "s", "Sum of the times to the first response."),
    counter("inference.first_responses", "{response}", "First responses to a request."),
    gauge(
        "inference.requests.pending",
        "{request}",
        "Requests that wait to be run.",
        between_samples=BetweenSamples.HOLD,
    ),
    counter("inference.cache.lookups", "{lookup}", "Looks into the response cache by inference.cache.result."),
    share("inference.cache.utilization", "Share of the response cache that is in use."),
)
