"""Who may call: API keys, how they are checked, limited, and managed by staff."""
