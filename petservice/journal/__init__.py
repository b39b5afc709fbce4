"""The journal: who changed what, when and from where, with the values before and after.

The audit, the history of a record, the changes that can be undone and the trash are four views of it.
"""
