"""What training hooks (`pulsetrain.agents.hook`) tell this node's agent."""
