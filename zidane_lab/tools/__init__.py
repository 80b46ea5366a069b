"""The agent's tools, one module each.

:mod:`~zidane_lab.tools.base` says what a tool is, :mod:`~zidane_lab.tools.decorator` makes one from a typed
function. The built-in tools are made by cached factories, so importing their modules stays cheap:
``read_file_tool()``, ``list_files_tool()``, ``glob_tool()``, ``list_variables_tool()``,
``inspect_variable_tool()``. Whatever a tool answers is kept within the limits of
:mod:`~zidane_lab.tools.truncate`.
"""
