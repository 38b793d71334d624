"""The error root of this package."""


class FeatureError(ValueError):
    """A feature set, or the values to extract from, are not what they must be."""
