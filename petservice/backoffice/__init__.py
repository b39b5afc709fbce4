"""What staff see and who they are: admin site, dashboard, accounts, logins, groups and error views."""
