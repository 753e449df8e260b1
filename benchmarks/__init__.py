"""Speed, side by side. See README.md here."""
