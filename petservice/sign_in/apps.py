from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import pre_save


class SignInConfig(AppConfig):
    """The app of logins, second factors and sessions."""

    name = "petservice.sign_in"

    def ready(self) -> None:
        from petservice.sign_in import login_limits, reauthentication, sessions

        pre_save.connect(
            login_limits.clear_form_data, sender="axes.AccessAttempt", dispatch_uid="petservice.clear_form_data"
        )
        user_logged_in.connect(sessions.begin, dispatch_uid="petservice.set_end_of_session")
        user_logged_in.connect(reauthentication.note_authentication, dispatch_uid="petservice.note_authentication")
