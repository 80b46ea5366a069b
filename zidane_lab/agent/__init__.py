"""The loop: :class:`~zidane_lab.agent.agent.Agent`, its bus, its limits, and what a run leaves behind."""
