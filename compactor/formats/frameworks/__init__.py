"""Messages of frameworks, as they keep and dump them."""
