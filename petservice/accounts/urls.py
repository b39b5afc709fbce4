from django.urls import path

from petservice.accounts.password_links import SetPasswordView

# Under the path of the admin, so that it has its sessions, security tokens and error pages.
urlpatterns = [path("admin/set-password/<uidb64>/<token>/", SetPasswordView.as_view(), name="password-link")]
