"""The Faust workers, one module a stage: each decodes, calls pure functions, encodes."""
