from .answers import RefusedByService, ServedAction, ServedDecision, ServiceUnreachable
from .async_client import AsyncClient
from .client import Client

__all__ = ["AsyncClient", "Client", "RefusedByService", "ServedAction", "ServedDecision", "ServiceUnreachable"]
