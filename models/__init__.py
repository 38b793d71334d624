"""What learns and scores: detectors, their ONNX graph, releases and the trainer."""
