"""The IPython host: magics, publishing, rendering, and the bridge between the cell and the agent's thread."""
