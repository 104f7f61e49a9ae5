"""Headers of answers: nothing is kept by browsers, and pages load nothing from other hosts."""

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
PAGE_HEADERS = {**HEADERS, "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'"}
