"""Removal of django-otp's own admin pages, which show the secrets of second factors."""

from django.contrib import admin
from django_otp.plugins.otp_static.admin import StaticDevice
from django_otp.plugins.otp_totp.admin import TOTPDevice

# The imports above have registered them.
admin.site.unregister([StaticDevice, TOTPDevice])
