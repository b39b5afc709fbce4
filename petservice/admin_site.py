"""The admin that staff work in: Django's own, under this service's name."""

from django.contrib import admin


class BackOffice(admin.AdminSite):
    """Named for this service."""

    site_title = site_header = "Pet service"
    index_title = "Back office"
    site_url = "/"
