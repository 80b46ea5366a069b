"""Credentials are kept from models, outputs, logs and sessions: placeholders stand for them, and only we can turn back.

:class:`~zidane_lab.secrets.vault.Vault` knows the values, :func:`~zidane_lab.secrets.masking.mask` puts their
placeholders into a text, :func:`~zidane_lab.secrets.masking.unmask_arguments` puts them back.
"""
