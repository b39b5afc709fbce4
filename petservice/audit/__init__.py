"""The audit: who did what, when and from where. All apps record their events here."""
