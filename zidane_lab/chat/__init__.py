"""The host-neutral chat: which model, which settings, which profile, which commands; one conversation.

A notebook, a terminal, a side panel and the headless command all put their own face on
:class:`~zidane_lab.chat.chat.Chat`.
"""
