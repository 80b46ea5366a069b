"""Where files and commands live: this machine, a container, another machine. Tools work the same in each."""
