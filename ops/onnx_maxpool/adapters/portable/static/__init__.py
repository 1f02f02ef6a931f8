"""Our operators in standard ones without control flow, for shapes that are known."""
