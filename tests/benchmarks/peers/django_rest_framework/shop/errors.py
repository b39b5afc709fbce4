from rest_framework import views

CODES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found"}


def exception_handler(exc, context):
    response = views.exception_handler(exc, context)
    if response is not None:
        message = str(getattr(exc, "detail", exc))
        response.data = {"error": {"code": CODES.get(response.status_code, "error"), "message": message}}
    return response
