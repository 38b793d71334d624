"""The training hook: what a training loop tells the node agent about its steps.

It is made to be imported into other people's training: it needs nothing beyond the standard library, starts no thread,
and whatever happens inside it, training goes on.
"""

from pulsetrain.agents.hook.probe import TrainingProbe

__all__ = ["TrainingProbe"]
