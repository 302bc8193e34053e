"""The named schemes: who is held out together."""
