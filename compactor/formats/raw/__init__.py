"""Native data, read so that what is not changed goes back byte for byte, and edits in it."""
