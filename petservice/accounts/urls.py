from django.urls import path

from petservice.accounts.password_views import open_link, set_password

# Under the path of the admin, so that they have its sessions, security tokens and error pages.
urlpatterns = [
    path("admin/set-password/", set_password, name="set-password"),
    path("admin/set-password/<str:token>/", open_link, name="password-link"),
]
