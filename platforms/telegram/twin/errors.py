"""An answer that says no, in the words of the real server."""

from __future__ import annotations

from platforms.telegram.twin.world.values import Json


class ApiError(Exception):
    """A refusal: HTTP status, description, and what a program may read from it."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def answer(self) -> Json:
        """The body of the HTTP answer."""
        body: Json = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            body["parameters"] = self.parameters
        return body


def bad(description: str, **parameters: int) -> ApiError:
    """400, the commonest refusal."""
    return ApiError(400, f"Bad Request: {description}", **parameters)


def forbidden(description: str) -> ApiError:
    """403: the bot may not do it to this person or chat."""
    return ApiError(403, f"Forbidden: {description}")


def too_many(seconds: int) -> ApiError:
    """429: wait so long."""
    return ApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


def conflict(description: str) -> ApiError:
    """409: two ways of receiving fight each other."""
    return ApiError(409, f"Conflict: {description}")
