import hashlib

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed

from shop.models import APIKey


class APIKeyAuthentication(BaseAuthentication):
    def authenticate(self, request):
        key = request.headers.get("X-API-Key")
        if not key:
            return None
        found = APIKey.objects.filter(digest=hashlib.sha256(key.encode()).hexdigest(), revoked_at=None).first()
        if found is None:
            raise AuthenticationFailed("A valid API key is required.")
        return found, None

    def authenticate_header(self, request):
        return "APIKey"
