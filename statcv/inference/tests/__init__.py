"""Tests against no skill, and over settings."""
