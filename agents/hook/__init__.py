"""The training hook: what a training loop tells the node agent about its steps.

It is made to be imported into other people's training: it needs nothing beyond the standard library (an environment for
training takes it with `pip install --no-deps pulsetrain`), starts no thread, and whatever happens inside it, training
goes on.

    from pulsetrain.agents.hook import TrainingProbe

    with TrainingProbe(job="llm-7b") as probe:
        for batch in probe.batches(loader):
            ...
            probe.step(loss=loss, grad_norm=norm, scale=scaler)

`pytorch`, `huggingface` and `lightning` beside it are for loops that are written by others.
"""

from pulsetrain.agents.hook.probe import TrainingProbe

__all__ = ["TrainingProbe"]
